"""Everyday functions: puzzles as for interviews, with pointers, windows, tables, graphs, tries, intervals and heaps."""

# ruff: noqa
# mypy: ignore-errors
from __future__ import annotations

import heapq
from collections import Counter, defaultdict, deque
from functools import cache
from itertools import groupby

from .table import everyday


@everyday(([2, 7, 11, 15], 9), ([3, 2, 4], 6), ([1, 2], 9))
def two_sum(nums, target):
    seen = {}
    for i, x in enumerate(nums):
        if target - x in seen:
            return [seen[target - x], i]
        seen[x] = i
    return []


@everyday(([-1, 0, 1, 2, -1, -4],), ([0, 0, 0],), ([1, 2, 3],))
def three_sum(nums):
    nums = sorted(nums)
    result = []
    for i in range(len(nums) - 2):
        if i > 0 and nums[i] == nums[i - 1]:
            continue
        lo, hi = i + 1, len(nums) - 1
        while lo < hi:
            s = nums[i] + nums[lo] + nums[hi]
            if s < 0:
                lo += 1
            elif s > 0:
                hi -= 1
            else:
                result.append([nums[i], nums[lo], nums[hi]])
                while lo < hi and nums[lo] == nums[lo + 1]:
                    lo += 1
                lo += 1
                hi -= 1
    return result


@everyday(([1, 8, 6, 2, 5, 4, 8, 3, 7],), ([1, 1],))
def container(heights):
    left, right = 0, len(heights) - 1
    best = 0
    while left < right:
        best = max(best, (right - left) * min(heights[left], heights[right]))
        if heights[left] < heights[right]:
            left += 1
        else:
            right -= 1
    return best


@everyday(([0, 1, 0, 2, 1, 0, 1, 3],), ([4, 2, 0, 3, 2, 5],))
def rain_by_stack(heights):
    stack, total = [], 0
    for i, h in enumerate(heights):
        while stack and heights[stack[-1]] < h:
            bottom = stack.pop()
            if not stack:
                break
            width = i - stack[-1] - 1
            total += width * (min(h, heights[stack[-1]]) - heights[bottom])
        stack.append(i)
    return total


@everyday(([1, 3, -1, -3, 5, 3, 6, 7], 3), ([9, 1], 1), ([4, 4, 2], 2))
def window_maxima(nums, k):
    queue, out = deque(), []
    for i, x in enumerate(nums):
        while queue and nums[queue[-1]] <= x:
            queue.pop()
        queue.append(i)
        if queue[0] <= i - k:
            queue.popleft()
        if i >= k - 1:
            out.append(nums[queue[0]])
    return out


@everyday(([1, 2, 1, 3, 3, 2], 2), ([5], 1), ([1, 1, 1], 1))
def at_most_k_kinds(fruits, k):
    count = {}
    start = best = 0
    for end, f in enumerate(fruits):
        count[f] = count.get(f, 0) + 1
        while len(count) > k:
            count[fruits[start]] -= 1
            if count[fruits[start]] == 0:
                del count[fruits[start]]
            start += 1
        best = max(best, end - start + 1)
    return best


@everyday((5,), (1,), (2,))
def climb_two_rows(n):
    dp = [0, 1]
    for i in range(n):
        dp[i % 2] = dp[0] + dp[1]
    return dp


@everyday(([3, 4, 5], [30, 50, 60], 8), ([1], [1], 0))
def knapsack_two_rows(weights, values, capacity):
    n = len(weights)
    dp = [[0] * (capacity + 1) for _ in range(2)]
    for i in range(1, n + 1):
        for w in range(capacity + 1):
            dp[i % 2][w] = dp[(i - 1) % 2][w]
            if w >= weights[i - 1]:
                dp[i % 2][w] = max(dp[i % 2][w], dp[(i - 1) % 2][w - weights[i - 1]] + values[i - 1])
    return dp[n % 2][capacity]


@everyday((3, 4), (1, 1), (5, 2))
def paths_in_two_rows(m, n):
    dp = [[1] * n, [1] * n]
    for i in range(1, m):
        dp[i % 2][0] = 1
        for j in range(1, n):
            dp[i % 2][j] = dp[(i - 1) % 2][j] + dp[i % 2][j - 1]
    return dp[(m - 1) % 2][n - 1]


@everyday((4,), (6,), (1,))
def rows_by_parity(n):
    dp = [[0] * 3 for _ in range(2)]
    dp[0][0] = 1
    for i in range(1, n):
        cur, prev = dp[i % 2], dp[(i + 1) % 2]
        for j in range(3):
            cur[j] = prev[j] + (prev[j - 1] if j > 0 else 0)
    return dp


@everyday(([1, 3, 4, 2], [3, 4, 2, 1]), ([1, 2], [3, 4]), ([5], [5]))
def common_subsequence(a, b):
    prev = [0] * (len(b) + 1)
    for x in a:
        cur = [0] * (len(b) + 1)
        for j, y in enumerate(b):
            if x == y:
                cur[j + 1] = prev[j] + 1
            else:
                cur[j + 1] = max(prev[j + 1], cur[j])
        prev, cur = cur, prev
    return prev[-1]


@everyday(("kitten", "sitting"), ("", "abc"))
def edit_distance_swapped(a, b):
    if len(a) < len(b):
        a, b = b, a
    prev = list(range(len(b) + 1))
    cur = [0] * (len(b) + 1)
    for i, x in enumerate(a, 1):
        cur[0] = i
        for j, y in enumerate(b, 1):
            cur[j] = min(prev[j] + 1, cur[j - 1] + 1, prev[j - 1] + (x != y))
        prev, cur = cur, prev
    return prev[-1]


@everyday((5, 3), (0, 4), (8, 2))
def swap_if_even(n, m):
    prev, cur = [0] * m, [1] * m
    for i in range(n):
        for j in range(m):
            cur[j] = prev[j] + i
        if i % 2 == 0:
            prev, cur = cur, prev
    return prev, cur


@everyday((5,), (0,), (9,))
def swap_before_break(n):
    prev, cur = [1, 0, 0], [0, 0, 0]
    for i in range(n):
        for j in range(3):
            cur[j] = prev[j] + prev[j - 1]
        prev, cur = cur, prev
        if prev[0] > 20:
            break
    return prev


@everyday(([1, 2, 3], [4, 5]), ([1], [2, 3, 4]), ([], []))
def shorter_first(a, b):
    if len(a) > len(b):
        a, b = b, a
    out = []
    for x in a:
        for y in b:
            if x < y:
                out.append((x, y))
    return out


@everyday((3, 5), (5, 3), (4, 4))
def swapped_ranges(m, n):
    a, b = list(range(m)), list(range(0, 2 * n, 2))
    if len(a) > len(b):
        a, b = b, a
    a.append(-1)
    b[0] = 99
    return a, b


@everyday((6, 2), (3, 3), (1, 0))
def largest_sum_path(n, start):
    row = [k * start % 5 for k in range(n)]
    best = row
    for _ in range(2):
        nxt = [max(row[j], row[j - 1] if j else 0) + j for j in range(n)]
        if sum(nxt) > sum(best):
            best = nxt
        row = nxt
    best[0] += 1
    return best


@everyday(([1, 2, 5], 11), ([2], 3), ([5, 7], 0))
def coin_change(coins, amount):
    dp = [0] + [amount + 1] * amount
    for a in range(1, amount + 1):
        for c in coins:
            if c <= a:
                dp[a] = min(dp[a], dp[a - c] + 1)
    return dp[amount] if dp[amount] <= amount else -1


@everyday(([10, 9, 2, 5, 3, 7, 101, 18],), ([1, 1],))
def longest_increasing(nums):
    dp, parent = [1] * len(nums), [-1] * len(nums)
    for i in range(len(nums)):
        for j in range(i):
            if nums[j] < nums[i] and dp[j] + 1 > dp[i]:
                dp[i] = dp[j] + 1
                parent[i] = j
    k = dp.index(max(dp))
    path = []
    while k != -1:
        path.append(nums[k])
        k = parent[k]
    return path[::-1]


@everyday((7,), (1,), (0,))
def group_by_remainder(n):
    groups = {}
    for i in range(n):
        groups[i % 3] = groups.get(i % 3, []) + [i]
    return groups


@everyday((7,), (1,), (0,))
def get_then_append(n):
    groups = {}
    for i in range(n):
        bucket = groups.get(i % 3, [])
        bucket.append(i)
        groups[i % 3] = bucket
    return groups


@everyday((6,), (1,), (0,))
def counts_in_dicts(n):
    table = {}
    for i in range(n):
        row = table.setdefault(i % 2, {})
        row[i % 3] = row.get(i % 3, 0) + 1
    return table


@everyday((5,), (1,), (0,))
def default_dict_of_dicts(n):
    graph = defaultdict(dict)
    for i in range(n):
        graph[i][(i * 2) % n] = i + 1
        graph[(i * 2) % n][i] = i + 1
    return sum(w for u in graph for w in graph[u].values()), len(graph)


@everyday(([0, 1, 2], [1, 2, 0], [4, 5, 6], 0), ([0], [1], [7], 0))
def weighted_graph(us, vs, ws, source):
    graph = {u: {} for u in range(3)}
    for u, v, w in zip(us, vs, ws):
        graph[u][v] = w
        graph[v][u] = w
    return sorted(graph[source].items())


@everyday((4,), (2,), (1,))
def known_dicts_in_dict(n):
    stats = {"even": {"count": 0, "sum": 0}, "odd": {"count": 0, "sum": 0}}
    for i in range(n):
        kind = "even" if i % 2 == 0 else "odd"
        stats[kind]["count"] += 1
        stats[kind]["sum"] += i
    return stats


@everyday((4,), (1,), (0,))
def labels_as_keys(n):
    table = {}
    for i in range(n):
        table[f"k{i % 3}"] = i
    return table


@everyday((4,), (0,), (12,), refusal="V5: loop variable a list")
def growing_labels(n):
    s, t = "", []
    for i in range(n):
        s += str(i)
        t.append(s)
    return t


@everyday(([1, 2, 3, 5, 6, 8],), ([7],), ([0, 2],))
def summary_ranges(nums):
    out, start = [], 0
    for i in range(len(nums)):
        if i + 1 == len(nums) or nums[i + 1] != nums[i] + 1:
            if start == i:
                out.append(str(nums[i]))
            else:
                out.append(f"{nums[start]}->{nums[i]}")
            start = i + 1
    return out


@everyday((4,), (2,), (0,))
def rows_by_length(n):
    rows = [list(range(k % 3)) for k in range(n)]
    rows.sort(key=len)
    return rows


@everyday((4,), (2,), (1,))
def sorted_rows(n):
    rows = [[(n - k) % 3, k][: k % 2 + 1] for k in range(n)]
    return sorted(rows)


@everyday(([1, 3, 2, 6, 8, 10, 15, 18],), ([1, 4, 4, 5],))
def merge_intervals(flat):
    intervals = sorted([flat[k], flat[k + 1]] for k in range(0, len(flat), 2))
    merged = [intervals[0]]
    for start, end in intervals[1:]:
        if start <= merged[-1][1]:
            merged[-1][1] = max(merged[-1][1], end)
        else:
            merged.append([start, end])
    return merged


@everyday(([1, 2, 3, 1], [2, 3, 4, 3]), ([1], [5]))
def most_meetings(starts, ends):
    count, last = 0, 0
    for end, start in sorted(zip(ends, starts)):
        if start >= last:
            count += 1
            last = end
    return count


@everyday(([0, 5, 15], [30, 10, 20]), ([7, 2], [10, 4]))
def meeting_rooms(starts, ends):
    rooms = []
    for start, end in sorted(zip(starts, ends)):
        if rooms and rooms[0] <= start:
            heapq.heapreplace(rooms, end)
        else:
            heapq.heappush(rooms, end)
    return len(rooms)


@everyday(([3, 2, 1, 5, 6, 4], 2), ([7], 1))
def kth_largest(nums, k):
    heap = []
    for x in nums:
        heapq.heappush(heap, x)
        if len(heap) > k:
            heapq.heappop(heap)
    return heap[0]


@everyday(([5, 15, 1, 3],), ([2],))
def running_medians(nums):
    low, high, out = [], [], []
    for x in nums:
        heapq.heappush(low, -x)
        heapq.heappush(high, -heapq.heappop(low))
        if len(high) > len(low):
            heapq.heappush(low, -heapq.heappop(high))
        out.append(-low[0] if len(low) > len(high) else (high[0] - low[0]) / 2)
    return out


class DisjointSet:
    def __init__(self, n):
        self.parent = list(range(n))
        self.size = [1] * n
        self.count = n

    def find(self, x):
        while self.parent[x] != x:
            self.parent[x] = self.parent[self.parent[x]]
            x = self.parent[x]
        return x

    def union(self, a, b):
        a, b = self.find(a), self.find(b)
        if a == b:
            return False
        if self.size[a] < self.size[b]:
            a, b = b, a
        self.parent[b] = a
        self.size[a] += self.size[b]
        self.count -= 1
        return True


@everyday((6, [0, 1, 3], [1, 2, 4]), (3, [0, 0], [1, 1]))
def components(n, us, vs):
    sets = DisjointSet(n)
    for u, v in zip(us, vs):
        sets.union(u, v)
    return sets.count, max(sets.size)


class Trie:
    def __init__(self):
        self.root = {}

    def insert(self, word):
        node = self.root
        for c in word:
            node = node.setdefault(c, {})
        node["$"] = True

    def has(self, word):
        node = self.root
        for c in word:
            if c not in node:
                return False
            node = node[c]
        return "$" in node


@everyday((2,), (0,), (3,), refusal="F4: this is one of several values")
def trie_words(n):
    trie = Trie()
    for word in ("tea", "ten", "to"):
        trie.insert(word)
    words = ["tea", "te", "to", "inn"]
    return trie.has(words[n]), trie.has("ten")


@everyday(([5, 3, 5, 3],), ([1, 2, 3, 4],))
def trie_of_bits(nums):
    trie = [[-1, -1]]
    for x in nums:
        node = 0
        for b in (2, 1, 0):
            bit = x >> b & 1
            if trie[node][bit] == -1:
                trie[node][bit] = len(trie)
                trie.append([-1, -1])
            node = trie[node][bit]
    best = 0
    for x in nums:
        node, value = 0, 0
        for b in (2, 1, 0):
            bit = x >> b & 1
            if trie[node][1 - bit] != -1:
                value |= 1 << b
                node = trie[node][1 - bit]
            else:
                node = trie[node][bit]
        best = max(best, value)
    return best


@everyday(([[1, 2, 3], [4, 5, 6], [7, 8, 9]],))
def rotate_in_place(m):
    n = len(m)
    for i in range(n):
        for j in range(i + 1, n):
            m[i][j], m[j][i] = m[j][i], m[i][j]
    for row in m:
        row.reverse()
    return m


@everyday((3,), (1,), (4,))
def rotate_symbolic(n):
    m = [[i * n + j for j in range(n)] for i in range(n)]
    for i in range(n):
        for j in range(i + 1, n):
            m[i][j], m[j][i] = m[j][i], m[i][j]
    for row in m:
        row.reverse()
    return m


@everyday((3,), (1,), (4,))
def spiral(n):
    m = [[0] * n for _ in range(n)]
    r, c, dr, dc = 0, 0, 0, 1
    for k in range(1, n * n + 1):
        m[r][c] = k
        if not (0 <= r + dr < n and 0 <= c + dc < n and m[r + dr][c + dc] == 0):
            dr, dc = dc, -dr
        r += dr
        c += dc
    return m


@everyday((121,), (-5,), (1900,))
def decode_roman(n):
    symbols = [
        (1000, "M"),
        (900, "CM"),
        (500, "D"),
        (400, "CD"),
        (100, "C"),
        (90, "XC"),
        (50, "L"),
        (10, "X"),
        (5, "V"),
        (1, "I"),
    ]
    out = []
    for value, symbol in symbols:
        while n >= value:
            out.append(symbol)
            n -= value
    return "".join(out)


@everyday(("3+2*2",), (" 3/2 ",), ("14-3*2",))
def calculator(text):
    stack, number, op = [], 0, "+"
    for i, c in enumerate(text):
        if c.isdigit():
            number = number * 10 + int(c)
        if c in "+-*/" or i == len(text) - 1:
            if op == "+":
                stack.append(number)
            elif op == "-":
                stack.append(-number)
            elif op == "*":
                stack.append(stack.pop() * number)
            else:
                stack.append(int(stack.pop() / number))
            number, op = 0, c
    return sum(stack)


@everyday((4,), (1,), (6,))
def look_and_say(n):
    text = "1"
    for _ in range(n - 1):
        nxt, i = "", 0
        while i < len(text):
            j = i
            while j < len(text) and text[j] == text[i]:
                j += 1
            nxt += str(j - i) + text[i]
            i = j
        text = nxt
    return text


@everyday(([1, 1, 2, 2, 2, 3],), ([5],), ([1, 2, 1],))
def run_lengths(xs):
    return [(k, len(list(group))) for k, group in groupby(xs)]


@everyday(([4, 5, 6, 7, 0, 1, 2], 0), ([4, 5, 6, 7, 0, 1, 2], 3), ([1], 1))
def search_rotated(nums, target):
    lo, hi = 0, len(nums) - 1
    while lo <= hi:
        mid = (lo + hi) // 2
        if nums[mid] == target:
            return mid
        if nums[lo] <= nums[mid]:
            if nums[lo] <= target < nums[mid]:
                hi = mid - 1
            else:
                lo = mid + 1
        elif nums[mid] < target <= nums[hi]:
            lo = mid + 1
        else:
            hi = mid - 1
    return -1


@everyday(([3, 6, 7, 11], 8), ([30, 11, 23, 4, 20], 5))
def eating_speed(piles, hours):
    lo, hi = 1, max(piles)
    while lo < hi:
        mid = (lo + hi) // 2
        if sum((p + mid - 1) // mid for p in piles) <= hours:
            hi = mid
        else:
            lo = mid + 1
    return lo


@everyday(([2, 2, 1, 4, 4],), ([7],))
def single_number(nums):
    x = 0
    for n in nums:
        x ^= n
    return x, bin(x).count("1"), x.bit_length(), x & -x


@everyday(([1, 2, 3],), ([],), ([4],))
def subsets_by_bits(nums):
    return [[x for i, x in enumerate(nums) if mask >> i & 1] for mask in range(1 << len(nums))]


@everyday(([1, 5, 11, 5],), ([1, 2, 3, 5],))
def equal_halves(nums):
    total = sum(nums)
    if total % 2:
        return False
    reach = {0}
    for x in nums:
        reach |= {r + x for r in reach}
    return total // 2 in reach


@everyday((10,), (1,), (6,))
def longest_collatz(n):
    memo = {1: 1}

    def length(k):
        if k not in memo:
            memo[k] = 1 + length(k // 2 if k % 2 == 0 else 3 * k + 1)
        return memo[k]

    best = max(range(1, n + 1), key=length)
    return best, memo[best]


@everyday((3,), (1,), (2,))
def balanced(n):
    out = []

    def build(text, opened, closed):
        if len(text) == 2 * n:
            out.append(text)
            return
        if opened < n:
            build(text + "(", opened + 1, closed)
        if closed < opened:
            build(text + ")", opened, closed + 1)

    build("", 0, 0)
    return out


class LRU:
    def __init__(self, capacity):
        self.capacity, self.items, self.misses = capacity, {}, 0

    def get(self, key):
        if key not in self.items:
            self.misses += 1
            return -1
        value = self.items.pop(key)
        self.items[key] = value
        return value

    def put(self, key, value):
        if key in self.items:
            self.items.pop(key)
        elif len(self.items) >= self.capacity:
            oldest = next(iter(self.items))
            del self.items[oldest]
        self.items[key] = value


@everyday((2, 3), (1, 2), (3, 1))
def lru_cache_of_items(capacity, key):
    cache = LRU(capacity)
    for k in range(4):
        cache.put(k, k * k)
        cache.get(key)
    return cache.get(key), cache.misses, list(cache.items)


class MinStack:
    def __init__(self):
        self.items = []

    def push(self, x):
        self.items.append((x, min(x, self.items[-1][1]) if self.items else x))

    def pop(self):
        return self.items.pop()[0]

    @property
    def lowest(self):
        return self.items[-1][1]


@everyday(([5, 2, 8, 1],), ([3],))
def min_stack(xs):
    stack, lows = MinStack(), []
    for x in xs:
        stack.push(x)
        lows.append(stack.lowest)
        if x % 4 == 0:
            stack.pop()
    return lows, len(stack.items)


@everyday((5, 3), (1, 1), (7, 2))
def josephus(n, k):
    people, i = list(range(1, n + 1)), 0
    while len(people) > 1:
        i = (i + k - 1) % len(people)
        del people[i]
    return people[0]


@everyday(([2, 0, 2, 1, 1, 0],), ([1],))
def dutch_flag(nums):
    low, mid, high = 0, 0, len(nums) - 1
    while mid <= high:
        if nums[mid] == 0:
            nums[low], nums[mid] = nums[mid], nums[low]
            low += 1
            mid += 1
        elif nums[mid] == 1:
            mid += 1
        else:
            nums[mid], nums[high] = nums[high], nums[mid]
            high -= 1
    return nums


@everyday(([1, 2, 3],), ([3, 2, 1],), ([1, 1, 5],))
def next_permutation(nums):
    i = len(nums) - 2
    while i >= 0 and nums[i] >= nums[i + 1]:
        i -= 1
    if i >= 0:
        j = len(nums) - 1
        while nums[j] <= nums[i]:
            j -= 1
        nums[i], nums[j] = nums[j], nums[i]
    nums[i + 1 :] = nums[i + 1 :][::-1]
    return nums


@everyday((5,), (3,), (0,))
def alternate_buffers(n):
    buffers = [[0] * 4, [0] * 4]
    active = 0
    for step in range(n):
        source, target = buffers[active], buffers[1 - active]
        for j in range(4):
            target[j] = source[(j + 1) % 4] + step
        active = 1 - active
    return buffers[active]


@everyday((7,), (2,), (0,))
def board_game(n):
    board = {(r, c): "." for r in range(2) for c in range(2)}
    player = "X"
    for k in range(n):
        cell = (k // 2 % 2, k % 2)
        if board[cell] == ".":
            board[cell] = player
            player = "O" if player == "X" else "X"
    return ["".join(board[r, c] for c in range(2)) for r in range(2)]


@everyday(([3, 1, 2], [1, 2]), ([4], [5]))
def inventory(stock, orders):
    shelf = {f"item{k}": {"left": s, "sold": 0} for k, s in enumerate(stock)}
    for k, o in enumerate(orders):
        item = shelf[f"item{k}"]
        if item["left"] >= o:
            item["left"] -= o
            item["sold"] += o
    return shelf
