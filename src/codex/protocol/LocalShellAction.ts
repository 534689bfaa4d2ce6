// Generated from codex 0.171.0 by `npm run protocol:generate`. Do not edit.

import type { LocalShellExecAction } from "./LocalShellExecAction.ts";

export type LocalShellAction = { "type": "exec" } & LocalShellExecAction;
