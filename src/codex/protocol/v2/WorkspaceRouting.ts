// Generated from codex 0.171.0 by `npm run protocol:generate`. Do not edit.

import type { AccountRoutingOverride } from "./AccountRoutingOverride.ts";

export type WorkspaceRouting = { chatgptAccountId: string, backendOrigin: string, accountRoutingOverride: AccountRoutingOverride, };
