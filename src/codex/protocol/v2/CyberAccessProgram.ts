// Generated from codex 0.171.0 by `npm run protocol:generate`. Do not edit.

/**
 * Requested cyber treatment for an OpenAI model turn.
 * Authorization and model-tier restrictions remain server-owned.
 */
export type CyberAccessProgram = "standard" | "daybreakBlue" | "daybreakRed";
