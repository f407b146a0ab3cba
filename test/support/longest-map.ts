/** How long V8's own maps and sets become. It moves all of one in one go whenever it is full, so none may grow with the books. */

/** The size of the longest Map or Set that something was put into while `work` was done. */
export function longestMapIn(work: () => void): number {
  const { set } = Map.prototype;
  const { add } = Set.prototype;
  let longest = 0;
  Map.prototype.set = function (key, value) {
    const map = set.call(this, key, value);
    longest = Math.max(longest, map.size);
    return map;
  };
  Set.prototype.add = function (value) {
    const all = add.call(this, value);
    longest = Math.max(longest, all.size);
    return all;
  };
  try {
    work();
  } finally {
    Map.prototype.set = set;
    Set.prototype.add = add;
  }
  return longest;
}
