// Generated from codex 0.171.0 by `npm run protocol:generate`. Do not edit.

import type { NetworkApprovalProtocol } from "./NetworkApprovalProtocol.ts";

export type NetworkApprovalContext = { host: string, protocol: NetworkApprovalProtocol, };
