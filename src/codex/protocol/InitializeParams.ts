// Generated from codex 0.171.0 by `npm run protocol:generate`. Do not edit.

import type { ClientInfo } from "./ClientInfo.ts";
import type { InitializeCapabilities } from "./InitializeCapabilities.ts";

export type InitializeParams = { clientInfo: ClientInfo, capabilities: InitializeCapabilities | null, };
