// Generated from codex 0.171.0 by `npm run protocol:generate`. Do not edit.

/**
 * Canonical user-input modality tags advertised by a model.
 */
export type InputModality = "text" | "image" | "audio";
