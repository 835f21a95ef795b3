"""Composite names: dicts, lists and attributes that branches and loops change; nonlocal and global variables."""

# ruff: noqa
# mypy: ignore-errors

from support.programs.reference.table import entry

POLES = ((1,), (-1,))


@entry(*POLES)
def a_dict_in_both_arms(a):
    x = {"a": a}
    if x["a"] > 0:
        x["b"] = 1
    else:
        x["b"] = -1
    return x


@entry(*POLES)
def a_list_in_both_arms(a):
    x = [a, 0]
    if x[0] > 0:
        x[1] = 1
    else:
        x[1] = -1
    return x


@entry(*POLES)
def a_new_key_in_one_arm(a):
    x = {"a": a}
    if x["a"] > 0:
        x["b"] = 1
    return x


@entry(*POLES)
def a_new_key_in_the_other_arm(a):
    x = {"a": {"a": a}}
    if x["a"]["a"] > 0:
        pass
    else:
        x["a"]["b"] = 1
    return x


@entry(*POLES)
def a_nested_dict(a):
    x = {"a": {"a": a, "b": 0}}
    if x["a"]["a"] > 0:
        x["a"]["b"] = 1
    return x


@entry((3, 1, 2), (0, 1, 2))
def a_dict_in_a_while(x, a, b):
    y = {"a": a, "b": b}
    while x > 0:
        x -= 1
        y["a"] += 1
    return y


@entry((3, 1, 2), (0, 1, 2))
def a_list_in_a_while(x, a, b):
    y = [a, b]
    while x > 0:
        x -= 1
        y[0] += 1
    return y


@entry((1, 2), (1, 20))
def a_while_on_a_dict(a, b):
    y = {"a": a, "b": b}
    while y["b"] <= 10:
        y["a"] += 1
        y["b"] *= 2
    return y


@entry((1, 2), (1, 20))
def a_while_on_a_list(a, b):
    y = [a, b]
    while y[1] <= 10:
        y[0] += 1
        y[1] *= 2
    return y


@entry((2,))
def a_new_key_in_a_while(b):
    y = {"b": b}
    while y["b"] <= 10:
        y["a"] = y["b"] + 1
        y["b"] *= 2
    return y


@entry((3, 1), (0, 1))
def a_list_in_a_for(n, a):
    y = [a, 5]
    for i in range(n):
        y[0] += i
        y[1] -= 1
    return y


class Account:
    interest = 2

    def __init__(self, balance):
        self.balance = balance
        self.count = 0

    def add(self, amount):
        if amount > 0:
            self.balance += amount
            self.count += 1
        else:
            return -1
        return self.balance

    @property
    def double(self):
        return self.balance * 2

    @classmethod
    def with_interest(cls, amount):
        return cls(amount * cls.interest)

    @staticmethod
    def larger(a, b):
        return a if a > b else b


class Savings(Account):
    def add(self, amount):
        return super().add(amount + 1) if amount != 5 else 0


@entry(*POLES)
def an_attribute_in_one_arm(a):
    x = Account(a)
    if a > 0:
        x.balance = 10
    return x.balance + x.count


@entry(*POLES, refusal="F4: variable attribute extra of an Account is used")
def a_new_attribute_in_one_arm(a):
    x = Account(a)
    if a > 0:
        x.extra = 10
    return x.extra + 1  # refused


@entry(*POLES)
def a_new_attribute_in_both_arms(a):
    x = Account(a)
    if a > 0:
        x.extra = 10
    else:
        x.extra = 20
    return x.extra


@entry((3, 2), (-3, 0))
def methods_that_change_objects(a, n):
    x = Account(a)
    for i in range(n):
        x.add(i)
    r = x.add(a)
    return x.balance, x.count, r, x.double


@entry((3,), (-3,), (5,), (-1,))
def methods_of_a_base_class(a):
    x = Savings(1)
    return x.add(a), x.balance, Account.with_interest(a).balance, Account.larger(a, 2)


@entry((3,), (-3,))
def two_names_of_one_object(a):
    x = Account(a)
    y = x
    if a > 0:
        y.balance += 1
        x.balance *= 2
    return x.balance, y.balance


@entry((3, 4), (3, -4))
def two_names_of_one_list(a, b):
    x = [a, b]
    y = x
    if b > 0:
        y[0] = b
        x[1] += y[0]
    return x, y


@entry((3,), (-1,))
def a_nonlocal_variable(n):
    total = 0

    def add(k):
        nonlocal total
        total += k
        return total

    if n > 0:
        add(n)
    for i in range(n):
        add(i)
    return total


counter = 0


@entry((3,), (-1,))
def a_global_variable(n):
    global counter
    counter = 5
    if n > 0:
        counter += n
    result = counter
    counter = 0
    return result


@entry((3,), (-1,))
def a_deleted_key(n):
    d = {"a": n, "b": 2}
    if n > 0:
        del d["b"]
    else:
        del d["b"]
    return d


@entry((2,), (-2,))
def appends_in_both_arms(n):
    xs = []
    if n > 0:
        xs.append(n)
    else:
        xs.append(-n)
    return xs[0]


@entry((2,), (-2,))
def an_append_in_one_arm(n):
    xs = [1]
    if n > 0:
        xs.append(n)
    return len(xs)


@entry((2,), (-2,))
def a_list_in_an_arm(n):
    xs = [1, 2]
    if n > 0:
        ys = [x * n for x in xs]
        xs[0] = sum(ys)
    return xs


@entry(([3, 1, 2],), ([1, 1, 4],))
def pops_in_a_known_loop(xs):
    s = 0
    ys = list(xs)
    while ys:
        s = s * 10 + ys.pop()
    return s


@entry(
    ([3, 1, 2], 4),
)
def fills_in_a_known_loop(xs, n):
    rows = []
    for x in xs:
        row = []
        for k in range(2):
            row.append(x * n + k)
        rows.append(row)
    return rows


@entry((3,), (9,))
def read_and_write_in_a_known_loop(n):
    xs = [1, n]
    for i in range(2, 6):
        xs.append(xs[i - 1] + xs[i - 2])
        xs[i - 2] = -xs[i - 2]
    return xs


@entry((2, 5), (0, 7))
def a_slice(a, b):
    xs = [a, b, a + b, 4]
    return xs[1:], xs[:-1], xs[::2], xs[None:2]


@entry((2, 5), (0, 7))
def an_assignment_to_a_slice(a, b):
    xs = [1, 2, 3]
    if a > 0:
        xs[1:] = [a, b]
    return xs


@entry((1, 2), (-1, 3))
def starred(a, b):
    first, *rest = a, b, a + b
    if a > 0:
        first, (second, *others) = b, rest
    else:
        second, *others = rest
    return first, second, others


class Vault:
    def __init__(self, secret):
        self.__secret = secret

    def opened(self, key):
        if key > 2:
            return self.__secret + key
        return self.__secret


VAULT = Vault(5)


@entry((4,), (1,))
def private_names(key):
    return VAULT.opened(key) * 100 + Vault(key).opened(3)
