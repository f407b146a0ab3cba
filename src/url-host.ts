/** A host as URLs write it: an IPv6 address stands in brackets, or its colons would be taken for the port's. */
export function urlHost(host: string): string {
  return host.includes(':') ? `[${host}]` : host;
}
