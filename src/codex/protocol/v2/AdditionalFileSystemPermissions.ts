// Generated from codex 0.171.0 by `npm run protocol:generate`. Do not edit.

import type { LegacyAppPathString } from "../LegacyAppPathString.ts";
import type { FileSystemSandboxEntry } from "./FileSystemSandboxEntry.ts";

export type AdditionalFileSystemPermissions = {
/**
 * This will be removed in favor of `entries`.
 */
read: Array<LegacyAppPathString> | null,
/**
 * This will be removed in favor of `entries`.
 */
write: Array<LegacyAppPathString> | null, globScanMaxDepth?: number, entries?: Array<FileSystemSandboxEntry>, };
