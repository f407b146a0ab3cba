/**
 * A whole number for a reader, `1,234,567`. Not toLocaleString: the first call of that loads the tables of all
 * languages, which takes longer than reading small books.
 */
export function countText(count: number, separator = ','): string {
  return String(count).replace(/\B(?=(?:\d{3})+$)/g, separator);
}
