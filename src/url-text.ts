/** A host as URLs write it: an IPv6 address stands in brackets, or its colons would be taken for the port's. */
export function urlHost(host: string): string {
  return host.includes(':') ? `[${host}]` : host;
}

/**
 * An http or https URL that has nothing in it beside a place, else null: a password would be told with every error, and
 * be kept in files.
 */
export function plainUrl(text: string): URL | null {
  const url = URL.canParse(text) ? new URL(text) : null;
  return url?.href === `${url?.origin}${url?.pathname}` && /^https?:$/.test(url.protocol) ? url : null;
}

/** A text without the slashes at its end. A pattern would look at those in the middle of a long one again and again. */
export function withoutSlashes(text: string): string {
  let end = text.length;
  while (end > 0 && text[end - 1] === '/') end--;
  return text.slice(0, end);
}
