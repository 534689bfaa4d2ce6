// Generated from codex 0.171.0 by `npm run protocol:generate`. Do not edit.

import type { CyberAccessProgram } from "./CyberAccessProgram.ts";

/**
 * Caller-specific explicit access programs advertised by model discovery.
 */
export type ModelAccessPrograms = {
/**
 * Accepted explicit selections.
 */
cyber: Array<CyberAccessProgram>, };
