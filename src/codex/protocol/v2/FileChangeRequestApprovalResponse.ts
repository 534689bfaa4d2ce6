// Generated from codex 0.171.0 by `npm run protocol:generate`. Do not edit.

import type { FileChangeApprovalDecision } from "./FileChangeApprovalDecision.ts";

export type FileChangeRequestApprovalResponse = { decision: FileChangeApprovalDecision, };
