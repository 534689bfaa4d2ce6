// Generated from codex 0.171.0 by `npm run protocol:generate`. Do not edit.

import type { CodexErrorInfo } from "./CodexErrorInfo.ts";
import type { MisalignmentErrorDetails } from "./MisalignmentErrorDetails.ts";

export type TurnError = { message: string, codexErrorInfo: CodexErrorInfo | null, additionalDetails: string | null,
/**
 * Optional public explanation and continuation instruction for a misalignment block.
 */
misalignment: MisalignmentErrorDetails | null, };
