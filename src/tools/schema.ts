import { Ajv } from 'ajv';
import { Ajv2020 } from 'ajv/dist/2020.js';
import { AttemptError, messageOf } from '../errors.ts';
import type { JsonSchema } from '../ports.ts';

/** Checks a value; null: it fits, else one line for the model that says what does not. */
export type SchemaCheck = (value: unknown) => string | null;

/**
 * Unknown keywords and formats are let pass, as Codex does: they are hints to the model. Compiling refuses what is no
 * schema by itself; checking it against the meta-schema first would cost a hundred times as much.
 */
const OPTIONS = {
  strict: false,
  validateFormats: false,
  validateSchema: false,
  logger: false,
  allErrors: true,
} as const;

/** Most problems that one answer names. */
const MAX_PROBLEMS = 5;

/**
 * Makes a check out of a JSON Schema: draft 6 and 7 when `$schema` says so, else 2020-12. No reference is fetched.
 * Throws AttemptError `tools_invalid` when it is no schema.
 */
export function compileSchema(schema: JsonSchema): SchemaCheck {
  const { $schema: dialect, ...rest } = schema;
  const ajv = typeof dialect === 'string' && /draft-0[67]/.test(dialect) ? new Ajv(OPTIONS) : new Ajv2020(OPTIONS);
  try {
    const validate = ajv.compile(rest);
    return (value) => {
      if (validate(value)) return null;
      return ajv.errorsText((validate.errors ?? []).slice(0, MAX_PROBLEMS), { dataVar: 'arguments' });
    };
  } catch (error) {
    throw new AttemptError('tools_invalid', `not a usable JSON Schema: ${messageOf(error)}`, { cause: error });
  }
}
