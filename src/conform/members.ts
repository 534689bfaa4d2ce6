import { type ContextEngine, CURRENT_TURN_FENCE, type EngineInfo, TURN_ADVANCEMENT } from '../engine/contract.ts';
import { declaresDurableTurns } from '../engine/legacy.ts';
import { excerpt } from './data.ts';

/** What in an engine's own words cannot be, or does not fit together; null: nothing. Its members were checked at load. */
export function memberFault({ info, commitTurn }: ContextEngine): { expected: string; found: string } | null {
  const { transcriptSemantics, ...rest } = info;
  for (const [field, { allowed, isAllowed }] of Object.entries(FIELDS)) {
    const value: unknown = Reflect.get(rest, field);
    if (value !== undefined && !isAllowed(value)) {
      return { expected: `info.${field} is ${allowed}`, found: excerpt(value) };
    }
  }
  const commits = typeof commitTurn === 'function';
  if (declaresDurableTurns({ info } as ContextEngine) === commits) return null;
  if (commits) {
    const both = `{ currentTurnFence: "${CURRENT_TURN_FENCE}", turnAdvancementIdempotency: "${TURN_ADVANCEMENT}" }`;
    return {
      expected: `an engine with commitTurn() declares info.transcriptSemantics ${both}`,
      found: excerpt(transcriptSemantics),
    };
  }
  return { expected: 'an engine that declares durable turns has commitTurn()', found: 'it has none' };
}

interface Rule {
  allowed: string;
  isAllowed(value: unknown): boolean;
}

const FIELDS: Readonly<Partial<Record<keyof EngineInfo, Rule>>> = {
  version: { allowed: 'a text', isAllowed: (value) => typeof value === 'string' },
  ownsCompaction: { allowed: 'true or false', isAllowed: (value) => typeof value === 'boolean' },
  turnMaintenanceMode: {
    allowed: '"foreground" or "background"',
    isAllowed: (value) => value === 'foreground' || value === 'background',
  },
  acceptedHostParams: {
    allowed: 'a list of texts',
    isAllowed: (value) => Array.isArray(value) && value.every((item) => typeof item === 'string'),
  },
};
