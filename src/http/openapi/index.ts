/**
 * The description of the interface, as OpenAPI 3.1. It is made of what the server itself goes by: the table of routes,
 * the schemas by which bodies are checked, the paths by which lists are filtered, the table of reasons. So it cannot
 * tell of a path that is not there, nor of a member that is not taken. This file puts it together; it is loaded when
 * somebody first asks for it.
 */
import { OPERATORS } from '../../core/filters.ts';
import { KINDS, Kind } from '../../core/kinds.ts';
import { REASONS, refuseBodySize, refuseMethod, refuseUnavailable, statusOf } from '../errors.ts';
import { AFTER } from '../events.ts';
import { allRoutes, type RouteRow } from '../paths.ts';
import {
  CUSTOM_DEPTH_MAX,
  FILTER_TEXT_MAX,
  FILTER_VALUES_MAX,
  FILTERS_MAX,
  type Filtered,
  PAGE_BYTES_MAX,
  PAGE_LIMIT_DEFAULT,
  pageIndexMax,
  pathsOf,
} from '../query.ts';
import type { Schema } from '../schema-words.ts';
import { bodySchemas, type SchemaLimits } from '../schemas.ts';
import { absoluteUrl } from '../tokens.ts';
import { SEMVER } from '../version.ts';
import { componentSchemas } from './components.ts';
import { bodyExamples, EXAMPLES } from './examples.ts';
import { ref, singularOf } from './names.ts';
import { type Operation, operationOf, refusalsOf } from './operations.ts';
import { webhooks } from './outward.ts';

export interface Described {
  readonly limits: SchemaLimits;
  readonly pageLimitMax: number;
  /** The URL under which clients see the server; empty: the one where they found the description. */
  readonly publicUrl: string;
}

/** The document as JSON. */
export function describeInterface(described: Described): string {
  const routes = allRoutes();
  const schemas = componentSchemas(bodySchemas(described.limits));
  const filters = routes.flatMap((route) => {
    const found = filterSchema(operationOf(route));
    return found === null ? [] : [found];
  });
  return JSON.stringify({
    openapi: '3.1.0',
    info: {
      title: 'ayni',
      version: SEMVER,
      summary: 'An in-memory clearing engine for signed, multi-tenant ledgers',
      description: introduction(),
      license: { name: 'Apache-2.0', identifier: 'Apache-2.0' },
    },
    servers: [{ url: serverUrl(described.publicUrl) }],
    // A token is not needed where the rules of a ledger ask for none.
    security: [{}, { token: [] }],
    tags: [
      { name: 'server', description: 'The server, and what happened in a ledger.' },
      ...KINDS.flatMap(({ path }, kind) => (path === '' ? [] : [{ name: path, description: tagText(kind as Kind) }])),
      { name: 'outward', description: 'What the server sends to others, signed by it, at least once.' },
    ],
    paths: pathItems(routes),
    webhooks: webhooks(),
    components: {
      schemas: { ...schemas, FilterValue: filterValue(), ...Object.fromEntries(filters) },
      parameters: parameters(described.pageLimitMax),
      responses: refusals(),
      headers: {
        RetryAfter: {
          description: 'Seconds after which the very same may be sent again.',
          schema: { type: 'integer', minimum: 0 },
        },
      },
      securitySchemes: {
        token: {
          type: 'http',
          scheme: 'bearer',
          bearerFormat: 'JWT',
          description:
            'A JWT signed with Ed25519 (`alg: EdDSA`), `kid` the public key or the handle of a signer; claims `iss`, `sub`, `aud` (the handle of the ledger), `iat`, `exp`. It proves who reads; who writes signs the body.',
        },
      },
    },
  });
}

function serverUrl(publicUrl: string): string {
  return publicUrl === '' ? '/v2' : absoluteUrl(publicUrl, '', '', '/v2', null);
}

function introduction(): string {
  const rows = [...reasonsByStatus()].map(([status, reasons]) => `| ${status} | ${code(reasons)} |`);
  return `Records are sent signed, as \`{hash, data, meta: {proofs: [proof]}}\`: \`hash\` is the SHA-256 of the canonical JSON
(RFC 8785) of \`data\`, and a proof is an Ed25519 signature over \`digest\`, the SHA-256 of the text of \`hash\` with the
canonical \`custom\` of the proof behind it. The examples are signed with a key that everybody has (its secret is 32 bytes
of 1): an open ledger takes them as they stand.

Every answer is signed by the server in the same way, whose key is that of the signer \`system\`.

\`{id}\` is a handle or a luid, percent-encoded. HEAD is answered wherever GET is, and OPTIONS everywhere, with \`Allow\`.

What is refused is answered with an \`Error\`, whose \`reason\` is one of these:

| status | reason |
|---|---|
${rows.join('\n')}`;
}

const code = (words: readonly string[]): string => words.map((word) => `\`${word}\``).join(', ');

const TAGS: Partial<Record<string, string>> = {
  ledgers: 'Tenants of the server; `/ledger` is the one that `x-ledger` selects.',
  signers: 'Public keys with a name. The server itself is `system`.',
  symbols: 'What there are amounts of.',
  wallets: 'Who has amounts.',
  anchors: 'Names that lead from one wallet to another.',
  intents: 'What is to happen: issue, transfer, destroy, limit; all of it or nothing.',
  effects: 'Whom the server tells of events.',
  bridges: 'Other systems that take part in two-phase commits.',
  circles: 'Signers that rules name together.',
  policies: 'Rules, and who may set which status or label, under names of their own.',
  schemas: "JSON Schemas of a ledger's own that records must satisfy.",
};

function tagText(kind: Kind): string {
  const { path, name } = KINDS[kind];
  return TAGS[path] ?? `Records of the kind ${name}.`;
}

// ---------------------------------------------------------------- paths

function pathItems(routes: readonly RouteRow[]): Record<string, Record<string, unknown>> {
  const items: Record<string, Record<string, unknown>> = {};
  for (const route of routes) {
    items[route.path] ??= {};
    items[route.path]![route.method.toLowerCase()] = operationObject(route, operationOf(route));
  }
  return items;
}

function operationObject(route: RouteRow, operation: Operation): Record<string, unknown> {
  const { id, summary, description, body, answer } = operation;
  const isServers = route.action === 'status' || route.action === 'head' || route.action === 'events';
  return {
    operationId: id,
    summary,
    ...(description !== undefined && { description }),
    tags: [isServers ? 'server' : KINDS[route.kind].path],
    parameters: parametersOf(route, operation),
    ...(body !== undefined && { requestBody: requestBody(route, body) }),
    responses: {
      [answer.status]: answerObject(route, answer),
      ...Object.fromEntries(refusalsOf(route, operation).map((status) => [status, refusalRef(status)])),
    },
  };
}

function requestBody(route: RouteRow, { schema, isRequired }: NonNullable<Operation['body']>) {
  const examples = Object.entries(bodyExamples(route)).map(([name, value]) => [name, { value }] as const);
  const media = { schema: ref(schema), ...(examples.length > 0 && { examples: Object.fromEntries(examples) }) };
  return { required: isRequired, content: { [JSON_TYPE]: media } };
}

const JSON_TYPE = 'application/json';

function answerObject({ action, kind }: RouteRow, { schema, description }: Operation['answer']) {
  if (schema === null) return { description };
  const content = { [JSON_TYPE]: { schema: schema === 'Text' ? { type: 'string' } : ref(schema) } };
  const waits = (action === 'create' || action === 'proof') && kind === Kind.intent;
  return { description, ...(waits && { headers: { 'Preference-Applied': PREFERENCE } }), content };
}

const PREFERENCE = {
  description: 'With `Prefer: wait`: how long was waited at most.',
  schema: { type: 'string', examples: ['wait=10'] },
};

// ---------------------------------------------------------------- parameters

function parametersOf(route: RouteRow, operation: Operation): unknown[] {
  const { filtered, parameters = [] } = operation;
  // A ledger is made outside any.
  const isOutside = route.action === 'create' && route.kind === Kind.ledger;
  return [
    ...[...route.path.matchAll(/\{(\w+)\}/g)].map(([, name]) => pathParameter(name!, route)),
    ...(isOutside ? [] : [parameterRef('Ledger')]),
    ...parameters.map(parameterRef),
    ...(filtered === undefined ? [] : ['PageIndex', 'PageLimit', 'Sort'].map(parameterRef)),
    ...filterParameters(operation),
  ];
}

const inQuery = (name: string, description: string, schema: Schema) => ({ name, in: 'query', description, schema });

const HOW_MANY = `How many on a page. Where these are more than ${PAGE_BYTES_MAX / 2 ** 20} MiB together it is 400: ask for fewer.`;

const parameterRef = (name: string) => ({ $ref: `#/components/parameters/${name}` });

function pathParameter(name: string, { kind }: RouteRow): Record<string, unknown> {
  const given = { name, in: 'path', required: true };
  if (name === 'change') {
    return {
      ...given,
      description: 'Number of the version, from 1.',
      schema: { type: 'integer', minimum: 1 },
      example: 1,
    };
  }
  const of = name === 'signer' ? Kind.signer : kind;
  const schema = { anyOf: [ref('Address'), ref('Luid')] };
  return { ...given, description: `Handle or luid of the ${KINDS[of].name}.`, schema, example: EXAMPLES[of].handle };
}

function parameters(pageLimitMax: number): Record<string, unknown> {
  return {
    Ledger: {
      name: 'x-ledger',
      in: 'header',
      description: "Handle or luid of the ledger to work in, instead of the server's default one.",
      schema: { anyOf: [ref('LedgerHandle'), ref('Luid')] },
    },
    Prefer: {
      name: 'Prefer',
      in: 'header',
      description:
        '`wait=<seconds>` (RFC 7240): answer once the intent has come to its end, or as far as it came in that time.',
      schema: { type: 'string' },
      example: 'wait=10',
    },
    PageIndex: inQuery('page.index', 'Which page, from 0.', {
      type: 'integer',
      format: 'int64',
      minimum: 0,
      maximum: pageIndexMax(pageLimitMax),
      default: 0,
    }),
    PageLimit: inQuery('page.limit', HOW_MANY, {
      type: 'integer',
      minimum: 1,
      maximum: pageLimitMax,
      default: Math.min(PAGE_LIMIT_DEFAULT, pageLimitMax),
    }),
    Sort: inQuery('sort.meta.moment', '1: the oldest first. -1: the newest first.', {
      type: 'integer',
      enum: [1, -1],
      default: -1,
    }),
    After: inQuery(
      'after',
      'Where to go on: `page.after` of the answer before, which is refused by books that have lost it; or a sequence number.',
      {
        type: 'string',
        pattern: AFTER.source,
        default: '0',
      },
    ),
    Wait: inQuery('wait', 'Seconds to wait for the first event; not longer than the server lets anybody wait.', {
      type: 'integer',
      minimum: 0,
      maximum: 999_999_999,
      default: 0,
    }),
    Signal: inQuery('signal', 'Events of this signal alone.', ref('Signal')),
  };
}

// ---------------------------------------------------------------- filters

/** A list's filters: one parameter for each path, and all of them, with operators, as one object. */
function filterParameters(operation: Operation): unknown[] {
  const { filtered } = operation;
  const found = filterSchema(operation);
  if (filtered === undefined || found === null) return [];
  const equal = plainPaths(filtered).map((path) => {
    const says = `Those whose \`${path}\` is this; \`${path}.$gte\` and so on compare otherwise.`;
    return inQuery(path, says, { type: 'string', maxLength: FILTER_TEXT_MAX });
  });
  const all = {
    name: 'filter',
    in: 'query',
    description:
      'All filters as one JSON object, with operators. All of them must hold. A moment is ISO 8601, or milliseconds since 1970.',
    content: { [JSON_TYPE]: { schema: ref(found[0]), example: { 'meta.moment': { $gte: '2026-01-01' } } } },
  };
  return [...equal, all];
}

const CUSTOM = 'data.custom.<member>';
const plainPaths = (of: Filtered): readonly string[] =>
  of === null ? [] : pathsOf(of).filter((path) => path !== CUSTOM);

/** Name and schema of what a list's `filter` may be, or null. */
function filterSchema({ filtered, answer }: Operation): [name: string, schema: Schema] | null {
  if (filtered === undefined || filtered === null) return null;
  const name = typeof filtered === 'number' ? singularOf(filtered) : answer.schema!.replace(/List$/, '');
  const properties = Object.fromEntries(plainPaths(filtered).map((path) => [path, ref('FilterValue')]));
  const custom = pathsOf(filtered).includes(CUSTOM) && {
    patternProperties: { [`^data\\.custom(?:\\.[^.]+){1,${CUSTOM_DEPTH_MAX}}$`]: ref('FilterValue') },
  };
  return [
    `${name}Filter`,
    {
      description: `What a list may be asked for: paths into its records${custom ? ', and into `data.custom`' : ''}.`,
      type: 'object',
      properties,
      ...custom,
      additionalProperties: false,
      maxProperties: FILTERS_MAX,
    },
  ];
}

function filterValue(): Schema {
  const scalar = { type: ['string', 'number', 'boolean'], maxLength: FILTER_TEXT_MAX };
  const list = { type: 'array', items: scalar, minItems: 1, maxItems: FILTER_VALUES_MAX };
  const operator = (name: string) => {
    if (name === 'regex') return { type: 'string', maxLength: FILTER_TEXT_MAX, description: 'RE2 syntax.' };
    return name === 'in' || name === 'nin' ? list : scalar;
  };
  const properties = Object.fromEntries(OPERATORS.map((name) => [`$${name}`, operator(name)]));
  return {
    description:
      'What a member is, or how it compares: a number with numbers. Of a member of several, claims say, one that fits will do, and another for each path; under `$ne` and `$nin` none may be that.',
    anyOf: [scalar, { type: 'object', properties, additionalProperties: false, minProperties: 1 }],
  };
}

// ---------------------------------------------------------------- refusals

const REFUSALS: Readonly<Record<number, string>> = {
  400: 'BadRequest',
  401: 'Unauthorized',
  403: 'Forbidden',
  404: 'NotFound',
  408: 'RequestTimeout',
  409: 'Conflict',
  413: 'ContentTooLarge',
  422: 'UnprocessableContent',
  429: 'TooManyRequests',
  500: 'InternalServerError',
  503: 'ServiceUnavailable',
};

const refusalRef = (status: number) => ({ $ref: `#/components/responses/${REFUSALS[status]}` });

/** The table has one status of each reason; its other ones stand where it is given with them, as in these three. */
function reasonsByStatus(): Map<number, string[]> {
  const others = [refuseMethod([]), refuseBodySize(0), refuseUnavailable('')];
  const all = [...Object.entries(REASONS), ...others.map((each) => [each.reason, statusOf(each)] as const)];
  const byStatus = new Map<number, string[]>();
  for (const [reason, status] of all.sort(([, one], [, other]) => one - other)) {
    byStatus.set(status, [...(byStatus.get(status) ?? []), reason]);
  }
  return byStatus;
}

function refusals(): Record<string, unknown> {
  const known = reasonsByStatus();
  const entries = Object.entries(REFUSALS).map(([status, name]) => {
    const isLater = status === '429' || status === '503';
    const headers = isLater && { headers: { 'Retry-After': { $ref: '#/components/headers/RetryAfter' } } };
    const content = { [JSON_TYPE]: { schema: ref('Error') } };
    return [name, { description: code(known.get(Number(status)) ?? []), ...headers, content }] as const;
  });
  return Object.fromEntries(entries);
}
