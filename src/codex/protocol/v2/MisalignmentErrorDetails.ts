// Generated from codex 0.171.0 by `npm run protocol:generate`. Do not edit.

import type { MisalignmentSteer } from "./MisalignmentSteer.ts";

export type MisalignmentErrorDetails = {
/**
 * Open-ended classification; clients must accept categories added by Responses.
 */
errorType: string | null,
/**
 * A substantive localized explanation is required before offering continuation.
 */
detailedExplanation: string | null,
/**
 * Instruction to submit as the next turn's user input if continuation is confirmed.
 */
steer: MisalignmentSteer | null,
/**
 * Opaque server-issued block target. Presence alone does not enable target-based continuation.
 */
reviewTarget?: string | null, };
