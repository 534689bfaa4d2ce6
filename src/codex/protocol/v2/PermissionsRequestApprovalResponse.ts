// Generated from codex 0.171.0 by `npm run protocol:generate`. Do not edit.

import type { GrantedPermissionProfile } from "./GrantedPermissionProfile.ts";
import type { PermissionGrantScope } from "./PermissionGrantScope.ts";

export type PermissionsRequestApprovalResponse = { permissions: GrantedPermissionProfile, scope: PermissionGrantScope,
/**
 * Review every subsequent command in this turn before normal sandboxed execution.
 */
strictAutoReview?: boolean, };
