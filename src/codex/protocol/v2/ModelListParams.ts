// Generated from codex 0.171.0 by `npm run protocol:generate`. Do not edit.

export type ModelListParams = {
/**
 * List models for this configured provider instead of the app-server default.
 */
modelProvider?: string | null,
/**
 * Opaque pagination cursor returned by a previous call.
 */
cursor?: string | null,
/**
 * Optional page size; defaults to a reasonable server-side value.
 */
limit?: number | null,
/**
 * When true, include models that are hidden from the default picker list.
 */
includeHidden?: boolean | null, };
