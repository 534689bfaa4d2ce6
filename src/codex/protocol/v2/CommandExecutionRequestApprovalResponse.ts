// Generated from codex 0.171.0 by `npm run protocol:generate`. Do not edit.

import type { CommandExecutionApprovalDecision } from "./CommandExecutionApprovalDecision.ts";

export type CommandExecutionRequestApprovalResponse = { decision: CommandExecutionApprovalDecision, };
