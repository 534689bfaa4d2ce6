// Generated from codex 0.171.0 by `npm run protocol:generate`. Do not edit.

import type { InputModality } from "../InputModality.ts";
import type { ReasoningEffort } from "../ReasoningEffort.ts";
import type { ModelAccessPrograms } from "./ModelAccessPrograms.ts";
import type { ModelAvailabilityNux } from "./ModelAvailabilityNux.ts";
import type { ModelServiceTier } from "./ModelServiceTier.ts";
import type { ModelUpgradeInfo } from "./ModelUpgradeInfo.ts";
import type { MultiAgentVersion } from "./MultiAgentVersion.ts";
import type { ReasoningEffortOption } from "./ReasoningEffortOption.ts";

export type Model = { id: string, model: string, upgrade: string | null, upgradeInfo: ModelUpgradeInfo | null, availabilityNux: ModelAvailabilityNux | null, displayName: string, description: string, modelSpecialty: string | null, hidden: boolean, supportedReasoningEfforts: Array<ReasoningEffortOption>, defaultReasoningEffort: ReasoningEffort, inputModalities: Array<InputModality>,
/**
 * @deprecated Always false; models no longer support personality selection.
 */
supportsPersonality: boolean,
/**
 * Multi-agent runtime declared by this model, when available.
 */
multiAgentVersion: MultiAgentVersion | null,
/**
 * Deprecated: use `serviceTiers` instead.
 */
additionalSpeedTiers: Array<string>, serviceTiers: Array<ModelServiceTier>,
/**
 * Catalog default service tier id for this model, when one is configured.
 */
defaultServiceTier: string | null,
/**
 * Null when the catalog does not provide access-program metadata.
 */
availableAccessPrograms: ModelAccessPrograms | null, isDefault: boolean, };
