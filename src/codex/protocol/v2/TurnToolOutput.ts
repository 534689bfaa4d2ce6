// Generated from codex 0.171.0 by `npm run protocol:generate`. Do not edit.

import type { FunctionCallOutputBody } from "../FunctionCallOutputBody.ts";

export type TurnToolOutput = { name: string, namespace: string | null, output: FunctionCallOutputBody,
/**
 * Requests retention of this output in the thread's model history.
 */
retain?: boolean, };
