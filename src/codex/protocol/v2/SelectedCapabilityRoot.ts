// Generated from codex 0.171.0 by `npm run protocol:generate`. Do not edit.

import type { CapabilityRootLocation } from "./CapabilityRootLocation.ts";

/**
 * A user-selected root that can expose one or more runtime capabilities.
 */
export type SelectedCapabilityRoot = {
/**
 * Stable identifier supplied by the capability selection platform.
 */
id: string,
/**
 * Where the selected root can be resolved.
 */
location: CapabilityRootLocation, };
