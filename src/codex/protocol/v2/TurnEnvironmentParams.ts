// Generated from codex 0.171.0 by `npm run protocol:generate`. Do not edit.

import type { LegacyAppPathString } from "../LegacyAppPathString.ts";

export type TurnEnvironmentParams = { environmentId: string, cwd: LegacyAppPathString,
/**
 * Environment-native runtime workspace roots. Omitted defaults to `cwd`.
 */
runtimeWorkspaceRoots?: Array<LegacyAppPathString> | null, };
