import { describe, expect, it } from 'vitest';
import type { HostTool, JsonSchema } from '../../src/ports.ts';
import { toolFingerprint } from '../../src/tools/fingerprint.ts';

type Described = Pick<HostTool, 'name' | 'namespace' | 'parameters'>;

const schema = (properties: JsonSchema, more: JsonSchema = {}): JsonSchema => ({ type: 'object', properties, ...more });
const tool = (name: string, parameters: JsonSchema = schema({ q: { type: 'string' } })): Described => ({
  name,
  parameters,
});
const of = (parameters: JsonSchema) => toolFingerprint([tool('a', parameters)]);
const permutations = <T>(list: readonly T[]): T[][] =>
  list.length < 2
    ? [[...list]]
    : list.flatMap((first, at) => permutations(list.filter((_, i) => i !== at)).map((rest) => [first, ...rest]));

describe('what leaves the fingerprint as it is', () => {
  it('is a fixed value for fixed tools, and for none', () => {
    expect(toolFingerprint([])).toBe('4f53cda18c2baa0c0354bb5f9a3ecbe5ed12ab4d8e11ba873c2f11161202b945');
    expect(toolFingerprint([tool('a')])).toMatch(/^[0-9a-f]{64}$/);
  });

  it('the order in which tools were found (BL-20)', () => {
    const tools = [tool('b'), tool('a'), { ...tool('a'), namespace: 'eng' }, tool('ä')];
    expect(new Set(permutations(tools).map(toolFingerprint)).size).toBe(1);
  });

  it('the order of keys at every depth', () => {
    const one = schema({ a: { type: 'object', properties: { x: {}, y: { minimum: 1, maximum: 2 } } }, b: {} });
    const two = {
      properties: { b: {}, a: { properties: { y: { maximum: 2, minimum: 1 }, x: {} }, type: 'object' } },
      type: 'object',
    };
    expect(of(two)).toBe(of(one));
  });

  it("a tool's own description (BL-19)", () => {
    const send = (description: string) => [{ ...tool('send'), description }];
    expect(toolFingerprint(send('to channel A'))).toBe(toolFingerprint(send('to channel B')));
  });

  it.each<[string, (text: string) => JsonSchema]>([
    ['the schema', (description) => schema({}, { description })],
    ['a property', (description) => schema({ q: { type: 'string', description } })],
    ['a property of a property', (description) => schema({ q: schema({ r: { description } }) })],
    ['a property called properties', (description) => schema({ properties: { type: 'string', description } })],
    ['items', (description) => schema({ q: { type: 'array', items: { description } } })],
    ['a list of items', (description) => schema({ q: { items: [{ description }] } })],
    ['prefixItems', (description) => schema({ q: { prefixItems: [{ description }] } })],
    ['anyOf', (description) => ({ anyOf: [{ description }, schema({})] })],
    ['oneOf', (description) => ({ oneOf: [{ description }] })],
    ['allOf', (description) => ({ allOf: [{ description }] })],
    ['not', (description) => ({ not: { description } })],
    [
      'if, then, else',
      (description) => Object.fromEntries(['if', 'then', 'else'].map((keyword) => [keyword, { description }])),
    ],
    ['additionalProperties', (description) => schema({}, { additionalProperties: { description } })],
    ['patternProperties', (description) => ({ patternProperties: { '^x': { description } } })],
    ['$defs', (description) => ({ $defs: { description: { type: 'string', description } } })],
    ['dependentSchemas', (description) => ({ dependentSchemas: { a: { description } } })],
  ])('a description text at %s', (_place, make) => {
    expect(of(make('one'))).toBe(of(make('two')));
    expect(of(make('one'))).toBe(
      of(
        JSON.parse(
          JSON.stringify(make('one'))
            .replaceAll(/,?"description":"one"/g, '')
            .replaceAll('{,', '{'),
        ),
      ),
    );
  });
});

describe('what changes the fingerprint', () => {
  const base = schema({ q: { type: 'string' } });

  it.each<[string, JsonSchema, JsonSchema]>([
    ['a type', base, schema({ q: { type: 'number' } })],
    ['a new parameter', base, schema({ q: { type: 'string' }, r: {} })],
    ['what is required', base, schema({ q: { type: 'string' } }, { required: ['q'] })],
    // A parameter called `description` is a parameter, at every place where names are the author's choice (W8).
    [
      'the type of a parameter called description',
      schema({ description: { type: 'string' } }),
      schema({ description: { type: 'number' } }),
    ],
    ['a parameter called description', schema({}), schema({ description: { type: 'string' } })],
    ['the same, nested', schema({ a: schema({ description: {} }) }), schema({ a: schema({}) })],
    ['a boolean schema called description', schema({ description: true }), schema({})],
    ['a definition called description', { $defs: { description: { type: 'string' } } }, { $defs: { description: {} } }],
    [
      'a default that holds the key',
      schema({ a: { default: { description: 'x' } } }),
      schema({ a: { default: { description: 'y' } } }),
    ],
    [
      'an enum that holds the key',
      schema({ a: { enum: [{ description: 'x' }] } }),
      schema({ a: { enum: [{ description: 'y' }] } }),
    ],
    ['a const that holds the key', schema({ a: { const: { description: 'x' } } }), schema({ a: { const: {} } })],
    [
      'examples that hold the key',
      schema({ a: { examples: [{ description: 'x' }] } }),
      schema({ a: { examples: [{}] } }),
    ],
    ['a parameter called description, in parameters that lack the frame', { description: {} }, {}],
    ['the order of an enum', schema({ a: { enum: [1, 2] } }), schema({ a: { enum: [2, 1] } })],
  ])('%s', (_what, one, two) => {
    expect(of(two)).not.toBe(of(one));
  });

  it('a name, a namespace, and one tool more or less', () => {
    const all = [
      [tool('a')],
      [tool('b')],
      [{ ...tool('a'), namespace: 'eng' }],
      [{ ...tool('eng'), namespace: 'a' }],
      [tool('a'), tool('b')],
      [],
    ].map(toolFingerprint);
    expect(new Set(all).size).toBe(all.length);
  });
});
