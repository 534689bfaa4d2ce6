// Generated from codex 0.171.0 by `npm run protocol:generate`. Do not edit.

import type { AdditionalFileSystemPermissions } from "./AdditionalFileSystemPermissions.ts";
import type { AdditionalNetworkPermissions } from "./AdditionalNetworkPermissions.ts";

export type GrantedPermissionProfile = { network?: AdditionalNetworkPermissions, fileSystem?: AdditionalFileSystemPermissions, };
