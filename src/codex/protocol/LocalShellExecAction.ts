// Generated from codex 0.171.0 by `npm run protocol:generate`. Do not edit.

export type LocalShellExecAction = { command: Array<string>, timeout_ms: bigint | null, working_directory: string | null, env: { [key in string]?: string } | null, user: string | null, };
