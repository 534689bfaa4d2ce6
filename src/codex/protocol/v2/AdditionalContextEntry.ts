// Generated from codex 0.171.0 by `npm run protocol:generate`. Do not edit.

import type { AdditionalContextKind } from "./AdditionalContextKind.ts";

export type AdditionalContextEntry = { value: string, kind: AdditionalContextKind,
/**
 * Optional name for untrusted context, used to label its tool output.
 */
name?: string | null, };
