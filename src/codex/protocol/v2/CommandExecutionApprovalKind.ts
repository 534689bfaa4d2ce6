// Generated from codex 0.171.0 by `npm run protocol:generate`. Do not edit.

/**
 * Distinguishes a command approval from input sent to an existing terminal.
 */
export type CommandExecutionApprovalKind = "command" | "humanCommand" | "writeStdin";
