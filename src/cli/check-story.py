#!/usr/bin/env python3
"""Checks a story that `ayni export` wrote: python3 check-story.py <story.json> <the server's public key, base64>

Trusts that key and nothing else: the hashes, digests and signatures of the record, the journal's entries about it, the
place of each in its frame, and every link from there to the head the server signed. Standard library only; the Ed25519
below is RFC 8032, for checking: it is slow and keeps no secret. Ends with 0 where all is proven, 2 where all but the
place in the chain is, as the file does not hold that, 1 where anything is wrong."""
import base64, datetime, decimal, hashlib, json, re, sys
ORDER = ''.join(sorted('-_0123456789' + ''.join(chr(a + i) for a in (65, 97) for i in range(26))))
P, L, D = 2**255 - 19, 2**252 + 27742317777372353535851937790883648493, -121665 * pow(121666, -1, 2**255 - 19)
def add(p, q):  # points as (X, Y, Z, T), 5.1.4
    a, b, c, d = (p[1] - p[0]) * (q[1] - q[0]), (p[1] + p[0]) * (q[1] + q[0]), 2 * p[3] * q[3] * D, 2 * p[2] * q[2]
    e, f, g, h = b - a, d - c, d + c, b + a
    return e * f % P, g * h % P, f * g % P, e * h % P
def times(n, p):
    q = (0, 1, 1, 0)
    while n: q, p, n = add(q, p) if n & 1 else q, add(p, p), n >> 1
    return q
def point(data):  # None where it is none, or not in its only encoding, 5.1.3
    y, odd = int.from_bytes(data, 'little') & (1 << 255) - 1, data[31] >> 7
    square = (y * y - 1) * pow(D * y * y + 1, -1, P) % P
    x = pow(square, (P + 3) // 8, P)
    x = x if x * x % P == square else x * pow(2, (P - 1) // 4, P) % P
    x = P - x if x & 1 != odd else x
    return (x, y, 1, x * y % P) if y < P and x < P and x * x % P == square else None
def holds(key, digest, signature):  # S < L, no point of small order, no cofactor
    a, r, s = point(key), point(signature[:32]), int.from_bytes(signature[32:], 'little')
    if not a or not r or s >= L or times(8, a)[0] == 0 or times(8, r)[0] == 0: return False
    h = int.from_bytes(hashlib.sha512(signature[:32] + key + digest).digest(), 'little') % L
    one, other = times(s, point((4 * pow(5, -1, P) % P).to_bytes(32, 'little'))), add(r, times(h, a))
    return all((one[i] * other[2] - other[i] * one[2]) % P == 0 for i in (0, 1))
def number(value):  # as ECMAScript writes it
    if isinstance(value, int) or value == 0: return str(int(value))
    sign, digits, exponent = decimal.Decimal(repr(value)).normalize().as_tuple()
    d, dot = ''.join(map(str, digits)), len(digits) + exponent
    if 0 < dot <= 21: text = d.ljust(dot, '0') if len(d) <= dot else d[:dot] + '.' + d[dot:]
    else: text = '0.' + '0' * -dot + d if -6 < dot <= 0 else d[0] + '.' * (d[1:] != '') + d[1:] + 'e%+d' % (dot - 1)
    return '-' * sign + text
def canon(value):
    if isinstance(value, dict):
        names = sorted(value, key=lambda name: name.encode('utf-16-be', 'surrogatepass'))
        return '{' + ','.join(canon(name) + ':' + canon(value[name]) for name in names) + '}'
    if isinstance(value, list): return '[' + ','.join(map(canon, value)) + ']'
    if isinstance(value, (int, float)) and not isinstance(value, bool): return number(value)
    return re.sub('[\ud800-\udfff]', lambda one: '\\u%04x' % ord(one[0]), json.dumps(value, ensure_ascii=False))
def expect(fact, what): fact or sys.exit('NOT PROVEN: ' + what)
def sha(data): return hashlib.sha256(data.encode() if isinstance(data, str) else data).digest()
def b64(data): return base64.b64encode(data).decode()
def raw(text): expect(b64(base64.b64decode(text)) == text, 'base64 as nobody writes it'); return base64.b64decode(text)
def milliseconds(text): return round(datetime.datetime.fromisoformat(text[:-1] + '000+00:00').timestamp() * 1000)
def unpack(e, at=0):  # a MessagePack value, and where it ends
    code, at = e[at], at + 1
    if code < 0x80 or code >= 0xe0: return code - (code >= 0xe0) * 256, at
    if code >> 5 == 5 or code >> 4 == 9: size = code & (31 if code >> 5 == 5 else 15)
    elif code == 0xc0: return None, at
    else:
        wide = {0xc4: 1, 0xcb: 8, 0xd9: 1, 0xda: 2, 0xdb: 4, 0xdc: 2, 0xdd: 4}.get(code) or 1 << (code & 3)
        size, at = int.from_bytes(e[at:at + wide], 'big', signed=code in range(0xd0, 0xd4)), at + wide
        if code in (0xcb, *range(0xcc, 0xd4)): return size, at
    if code >> 4 != 9 and code not in (0xdc, 0xdd):
        return e[at:at + size] if code == 0xc4 else e[at:at + size].decode(), at + size
    values = []
    for _ in range(size): value, at = unpack(e, at); values.append(value)
    return values, at
def entry(e):  # luid, type, moment, data, hash and proofs of an entry: as src/storage/codec.ts has them, in either version
    (luid, _, code, _, _, moment, *rest), _ = unpack(e)
    second = sum(ORDER.index(c) * 64**(5 - i) for i, c in enumerate(luid[5:11])) * 1000
    if code % 8 in (0, 6, 7): return luid, code % 8, moment, '', b'', []
    if code % 8 == 4: return luid, 4, moment, '', b'', rest[1:2]
    if code == 13: rest.insert(0, sha(rest[0]))
    keys = [base64.b64decode(rest[1].encode('utf-16-le')[2 * key:2 * key + 88].decode('utf-16-le')) if isinstance(key, int)
            else key for key, *_ in rest[2]]  # told by their place in the data, in UTF-16 units
    return luid, code % 8, moment + second * (code > 8), rest[1], rest[0], [(k, *p[1:]) for k, p in zip(keys, rest[2])]
def check(envelope, what):  # hash, digests, signatures; gives (key, signature, custom) of each proof
    digest, proofs = sha(canon(envelope['data'])).hex(), []
    expect(envelope['hash'] == digest, what + ': its hash is not that of its data')
    for each in envelope['meta']['proofs']:
        key, result, custom = raw(each['public']), raw(each['result']), each.get('custom', {})
        signed = sha(digest + (canon(custom) if 'custom' in each else ''))
        expect((each['digest'], each['method']) == (signed.hex(), 'ed25519-v2'), what + ': a digest of something else')
        expect(holds(key, signed, result), what + ': a signature does not hold')
        proofs.append((key, result, custom))
    expect(any(key == server for key, _, _ in proofs), what + ': the server has not signed it')
    return proofs

if len(sys.argv) != 3: sys.exit(__doc__)
story, server = json.load(open(sys.argv[1], encoding='utf-8')), raw(sys.argv[2])
record, head, chain, lines = story['record'], story['head'], story['chain'], story['entries']
expect(story['format'] in ('ayni-story-1', 'ayni-story-2'), 'it is of another format')
expect(raw(story['server']) == server, 'it is of another server')
entries = [raw(line['bytes']) for line in sorted(lines, key=lambda line: line['seq'])]
expect([raw(line['bytes']) for line in lines] == entries, 'entries that are not in order')
read = [entry(e) for e in entries]
expect(all(luid == record['luid'] for luid, *_ in read), 'an entry of another record')
owners = list(dict.fromkeys(b64(key) for key, *_ in read[0][5]))
shown, statuses = [], ['active'] if record['luid'][1:4] == 'eff' else []
for version in story['versions'] + [record]:
    meta, data, proofs = version['meta'], canon(version['data']), check(version, 'the record')
    holds_it = (milliseconds(meta['moment']), data, sha(data))
    expect(any(each[2:5] == holds_it for each in read), 'a version that no entry holds')
    expect((version['luid'], meta['owners']) == (record['luid'], owners), 'a luid or owners of another record')
    texts = [meta.get('thread', '')] + meta.get('labels', [])
    expect(all(any(text.encode() in e for e in entries) for text in texts), 'a thread or label that no entry holds')
    shown, statuses = shown + proofs, statuses + [custom.get('status') for _, _, custom in proofs]
    expect(meta['status'] in statuses, 'a status that nobody gave')
pairs = {(key, result) for each in read for key, result, _ in each[5] if each[1] != 3}  # those of a drop speak of the drop
expect(pairs <= {pair[:2] for pair in shown}, 'a proof in the journal that the record does not show')
expect(all(key == server or (key, result) in pairs for key, result, _ in shown), 'a proof not in the journal')
expect(check(head, 'the head')[0][2]['moment'] == head['meta']['moment'], 'a moment of the head that is not signed')
if chain is None: sys.exit(print('Proven but for its place: the frames of its first entries are gone') or 2)
before, seq, digests = bytes.fromhex(chain['before']), None, {}
for item in chain['frames']:
    hashes = [] if isinstance(item, str) else item['entries']
    run = bytes.fromhex(item['head']) + sha(bytes.fromhex(''.join(hashes))) if hashes else raw(item)
    for link in (run[at:at + 99] for at in range(0, len(run), 99)):  # 67 bytes of head, SHA-256 of its entries' hashes
        first, count, moment = (int.from_bytes(link[a:b], 'big') for a, b in ((11, 19), (20, 24), (25, 33)))
        expect(link[35:67] == before and seq in (None, first - 1), 'a frame does not continue the one before it')
        before, seq = sha(link), first + count - 1
    digests.update(zip(range(first, first + len(hashes)), hashes))
expect(all(digests.get(line['seq']) == sha(e).hex() for line, e in zip(lines, entries)), 'an entry is not in its frame')
end = (head['data']['chain'], head['data']['seq'], milliseconds(head['data']['moment']))
expect(end == (before.hex(), seq, moment), 'the chain does not end in the head')
what = record['luid'] + ', dropped' * (read[-1][1] == 3)
print(f'Proven: {what}: {len(entries)} entries, {len(shown)} proofs; in the chain up to entry {seq}')
