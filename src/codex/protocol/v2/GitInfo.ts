// Generated from codex 0.171.0 by `npm run protocol:generate`. Do not edit.

export type GitInfo = { sha: string | null, branch: string | null, originUrl: string | null, };
