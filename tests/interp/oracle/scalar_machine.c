/* A machine in C for programs of scalars of every dtype but uint64, with conds, loops, calls and recursion. It refuses
 * arrays, cells and effects. docs/conform.md describes the protocol, docs/json.md the form of programs.
 *
 * It evaluates regions in program order, as an interpreter of expressions does, and knows no tokens. */
#include <inttypes.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_DEPTH = 2000, MAX_FUNCTIONS = 64 };

/* Answers that end a request at once: refusals and traps. */

static jmp_buf answered;
static char answer[512];

static void give_up(const char *format, ...) {
    va_list parts;
    va_start(parts, format);
    vsnprintf(answer, sizeof answer, format, parts);
    va_end(parts);
    longjmp(answered, 1);
}

static void refuse(const char *kind, const char *what) {
    give_up("\"refused\", \"kind\": \"%s\", \"message\": \"%.200s is not supported\"", kind, what);
}

static void trap(const char *message) {
    give_up("\"trapped\", \"message\": \"%s\"", message);
}

/* The memory of a request or a program: blocks that are freed together. */

typedef struct Block {
    struct Block *next;
} Block;

static void *allocate(Block **arena, size_t size) {
    Block *block = calloc(1, sizeof(Block) + size);
    if (block == NULL)
        abort();
    block->next = *arena;
    *arena = block;
    return block + 1;
}

static void release(Block **arena) {
    while (*arena != NULL) {
        Block *next = (*arena)->next;
        free(*arena);
        *arena = next;
    }
}

/* JSON. The elements of a list or an object are linked; those of an object have keys. */

typedef struct Json {
    char kind; /* { [ " 0, or the first letter of a word */
    const char *key, *text;
    struct Json *first, *next;
} Json;

static const char *skip(const char *text, const char *letters) {
    return text + strspn(text, letters);
}

/* The string that begins behind a quotation mark; `*text` moves behind its end. Escapes lose their backslash, which
 * suffices for names. */
static const char *read_string(Block **arena, const char **text) {
    const char *end = *text;
    while (*end != '"' && *end != '\0')
        end += *end == '\\' && end[1] != '\0' ? 2 : 1;
    char *string = allocate(arena, end - *text + 1), *letter = string;
    for (; *text < end; (*text)++) {
        if (**text == '\\')
            (*text)++;
        *letter++ = **text;
    }
    *text += *end != '\0';
    return string;
}

static Json *read_json(Block **arena, const char **text) {
    Json *json = allocate(arena, sizeof *json), **end = &json->first;
    *text = skip(*text, " \n");
    json->kind = **text;
    if (json->kind == '"') {
        (*text)++;
        json->text = read_string(arena, text);
    } else if (json->kind == '{' || json->kind == '[') {
        for (*text = skip(*text + 1, " "); **text != '}' && **text != ']'; *text = skip(*text, " ,")) {
            const char *key = NULL;
            if (json->kind == '{') {
                (*text)++;
                key = read_string(arena, text);
                *text = skip(*text, " :");
            }
            *end = read_json(arena, text);
            (*end)->key = key;
            end = &(*end)->next;
        }
        (*text)++;
    } else {
        size_t length = strcspn(*text, ",]} \n");
        char *word = allocate(arena, length + 1);
        json->text = memcpy(word, *text, length);
        json->kind = strchr("-0123456789", json->kind) ? '0' : json->kind;
        *text += length;
    }
    return json;
}

static const Json *get(const Json *object, const char *key) {
    for (const Json *json = object->first; json != NULL; json = json->next)
        if (strcmp(json->key, key) == 0)
            return json;
    give_up("\"error\", \"message\": \"the key %s is missing\"", key);
    return NULL;
}

static int count(const Json *list) {
    int number = 0;
    for (const Json *json = list->first; json != NULL; json = json->next)
        number++;
    return number;
}

/* Values. */

typedef enum { BOOL, INT8, INT16, INT32, INT64, UINT8, UINT16, UINT32, FLOAT32, FLOAT64, DTYPE_COUNT } Dtype;

static const struct {
    const char *name;
    int bits;
    bool is_signed, is_float;
} DTYPES[DTYPE_COUNT] = {
    [BOOL] = {"bool", 1, false, false},
    [INT8] = {"int8", 8, true, false},
    [INT16] = {"int16", 16, true, false},
    [INT32] = {"int32", 32, true, false},
    [INT64] = {"int64", 64, true, false},
    [UINT8] = {"uint8", 8, false, false},
    [UINT16] = {"uint16", 16, false, false},
    [UINT32] = {"uint32", 32, false, false},
    [FLOAT32] = {"float32", 32, true, true},
    [FLOAT64] = {"float64", 64, true, true},
};

typedef struct {
    Dtype dtype;
    union {
        int64_t integer; /* of a bool, too */
        double real;
    };
} Value;

/* An integer of a dtype: the bits that do not fit are lost. */
static Value integer(Dtype dtype, uint64_t bits) {
    int lost = 64 - DTYPES[dtype].bits;
    int64_t number = DTYPES[dtype].is_signed ? (int64_t)(bits << lost) >> lost : (int64_t)(bits << lost >> lost);
    return (Value){dtype, {.integer = number}};
}

/* A float of a dtype: one of float32 is computed in float64, and rounded once. */
static Value real(Dtype dtype, double number) {
    return (Value){dtype, {.real = dtype == FLOAT32 ? (float)number : number}};
}

static Value boolean(bool is_true) {
    return (Value){BOOL, {.integer = is_true}};
}

static Dtype read_dtype(const char *name) {
    for (int dtype = 0; dtype < DTYPE_COUNT; dtype++)
        if (strcmp(name, DTYPES[dtype].name) == 0)
            return dtype;
    refuse("dtype", name);
    return BOOL;
}

static Dtype read_type(const Json *type) {
    Dtype dtype = read_dtype(get(type, "dtype")->text);
    if (get(type, "shape")->first != NULL || get(type, "shape")->kind != '[')
        refuse("dtype", "an array");
    return dtype;
}

static Value read_value(const Json *json) {
    const Json *data = get(json, "data");
    Dtype dtype = read_dtype(get(json, "dtype")->text);
    if (data->kind == '[')
        refuse("dtype", "an array");
    if (dtype == BOOL)
        return boolean(data->kind == 't');
    if (DTYPES[dtype].is_float)
        return real(dtype, strtod(data->text, NULL)); /* which reads nan and inf, too */
    return integer(dtype, (uint64_t)strtoll(data->text, NULL, 10));
}

static void print_value(Value value) {
    printf("{\"dtype\": \"%s\", \"data\": ", DTYPES[value.dtype].name);
    if (value.dtype == BOOL) {
        printf(value.integer ? "true}" : "false}");
    } else if (!DTYPES[value.dtype].is_float) {
        const char *quote = value.integer > 1LL << 53 || value.integer < -(1LL << 53) ? "\"" : "";
        printf("%s%" PRId64 "%s}", quote, value.integer, quote);
    } else if (isfinite(value.real)) {
        char text[32];
        snprintf(text, sizeof text, "%.17g", value.real);
        printf("%s%s}", text, strpbrk(text, ".e") ? "" : ".0");
    } else {
        printf(isnan(value.real) ? "\"nan\"}" : value.real > 0 ? "\"inf\"}" : "\"-inf\"}");
    }
}

/* Programs. A value of a region has a slot: its parameters first, then the results of its nodes. */

#define OPS(X) \
    X(add) X(subtract) X(multiply) X(divide) X(floor_divide) X(remainder) X(pow) X(negative) X(abs) X(sign) \
    X(minimum) X(maximum) X(less) X(less_equal) X(greater) X(greater_equal) X(equal) X(not_equal) X(logical_and) \
    X(logical_or) X(logical_xor) X(logical_not) X(bitwise_and) X(bitwise_or) X(bitwise_xor) X(bitwise_invert) \
    X(where) X(astype) X(identity) X(stop_gradient) X(floor) X(ceil) X(trunc) X(round) X(sqrt) X(exp) X(log) X(sin) \
    X(cos) X(tanh) X(isnan) X(isinf) X(isfinite) X(signbit) X(multiply_no_nan) X(assert) X(cond) X(while_loop) \
    X(call)
#define ENUMERATOR(name) OP_##name,
#define NAME(name) #name,
typedef enum { OPS(ENUMERATOR) OP_COUNT } Op;
static const char *const OP_NAMES[] = {OPS(NAME)};

typedef struct {
    int slot; /* -1: the literal */
    Value literal;
} Operand;

typedef struct Region Region;

typedef struct {
    Op op;
    Dtype dtype; /* of the first result */
    int input_count, result_count, slot, callee;
    Operand *inputs;
    Region *regions[2];
} Node;

struct Region {
    int parameter_count, node_count, slot_count, result_count;
    Node *nodes;
    Operand *results;
};

typedef struct {
    Block *arena;
    int count, entry;
    const char *names[MAX_FUNCTIONS];
    Region *bodies[MAX_FUNCTIONS];
} Program;

static Op read_op(const char *name) {
    for (int op = 0; op < OP_COUNT; op++)
        if (strcmp(name, OP_NAMES[op]) == 0)
            return op;
    refuse("op", name);
    return OP_COUNT;
}

static int find_name(const char *const *names, int count, const char *name) {
    for (int number = count - 1; number >= 0; number--)
        if (strcmp(names[number], name) == 0)
            return number;
    give_up("\"error\", \"message\": \"the name %.200s is missing\"", name);
    return -1;
}

static Operand *read_operands(Program *program, const Json *list, const char *const *names, int name_count) {
    Operand *operands = allocate(&program->arena, count(list) * sizeof *operands), *operand = operands;
    for (const Json *json = list->first; json != NULL; json = json->next, operand++) {
        bool is_literal = strcmp(json->first->key, "literal") == 0;
        operand->slot = is_literal ? -1 : find_name(names, name_count, get(json, "name")->text);
        if (is_literal)
            operand->literal = read_value(get(json, "literal"));
    }
    return operands;
}

static Region *read_region(Program *program, const Json *json) {
    const Json *parameters = get(json, "parameters"), *nodes = get(json, "nodes"), *results = get(json, "results");
    Region *region = allocate(&program->arena, sizeof *region);
    int slots = count(parameters);
    for (const Json *node = nodes->first; node != NULL; node = node->next)
        slots += count(get(node, "results"));
    const char **names = allocate(&program->arena, slots * sizeof *names);
    region->nodes = allocate(&program->arena, count(nodes) * sizeof *region->nodes);
    for (const Json *parameter = parameters->first; parameter != NULL; parameter = parameter->next) {
        read_type(get(parameter, "type"));
        names[region->slot_count++] = get(parameter, "name")->text;
    }
    region->parameter_count = region->slot_count;
    for (const Json *source = nodes->first; source != NULL; source = source->next) {
        Node *node = &region->nodes[region->node_count++];
        const Json *inputs = get(source, "inputs"), *attributes = get(source, "attributes");
        node->op = read_op(get(source, "op")->text);
        node->slot = region->slot_count;
        node->input_count = count(inputs);
        node->dtype = read_type(get(get(source, "results")->first, "type"));
        node->inputs = read_operands(program, inputs, names, region->slot_count);
        if (node->op == OP_call)
            node->callee = find_name(program->names, program->count, get(attributes, "function")->text);
        int number = 0;
        for (const Json *inner = get(source, "regions")->first; inner != NULL; inner = inner->next)
            node->regions[number++] = read_region(program, inner);
        for (const Json *result = get(source, "results")->first; result != NULL; result = result->next) {
            read_type(get(result, "type"));
            names[region->slot_count++] = get(result, "name")->text;
            node->result_count++;
        }
    }
    region->result_count = count(results);
    region->results = read_operands(program, results, names, region->slot_count);
    return region;
}

static void read_program(Program *program, const Json *json) {
    const Json *functions = get(json, "functions");
    release(&program->arena);
    program->count = 0;
    if (count(functions) > MAX_FUNCTIONS)
        refuse("limit", "so many functions");
    for (const Json *function = functions->first; function != NULL; function = function->next) {
        const char *name = get(function, "name")->text;
        program->names[program->count++] = strcpy(allocate(&program->arena, strlen(name) + 1), name);
    }
    int number = 0;
    for (const Json *function = functions->first; function != NULL; function = function->next)
        program->bodies[number++] = read_region(program, get(function, "body"));
    program->entry = find_name(program->names, program->count, get(json, "entry")->text);
}

/* Ops, whose results have the dtype of their node. Integers wrap; quotients are rounded down, and remainders have the
 * sign of the divisor. */

static uint64_t integer_power(uint64_t base, int64_t exponent) {
    uint64_t product = 1;
    if (exponent < 0)
        trap("a negative exponent");
    for (; exponent > 0; exponent >>= 1, base *= base)
        if (exponent & 1)
            product *= base;
    return product;
}

static int64_t floor_quotient(int64_t x, int64_t y) {
    if (y == 0)
        trap("integer division by zero");
    if (y == -1)
        return (int64_t)-(uint64_t)x; /* the negative of the least integer wraps */
    return x / y - (x % y != 0 && (x < 0) != (y < 0));
}

static double float_remainder(double x, double y) {
    double rest = fmod(x, y);
    if (rest == 0)
        return copysign(0.0, y);
    return (rest < 0) != (y < 0) ? rest + y : rest;
}

/* Rounded as Python rounds: the quotient of what a remainder leaves. */
static double float_floor_quotient(double x, double y) {
    if (y == 0 || isnan(x) || isinf(x) || isnan(y))
        return y == 0 ? x / y : NAN;
    double quotient = (x - fmod(x, y)) / y, rest = fmod(x, y);
    if (rest != 0 && (rest < 0) != (y < 0))
        quotient -= 1;
    if (quotient == 0)
        return copysign(0.0, x / y);
    double lower = floor(quotient);
    return quotient - lower > 0.5 ? lower + 1 : lower;
}

static Value compute_integer(Op op, Dtype dtype, int64_t x, int64_t y) {
    uint64_t a = (uint64_t)x, b = (uint64_t)y;
    switch (op) {
    case OP_add: return integer(dtype, a + b);
    case OP_subtract: return integer(dtype, a - b);
    case OP_multiply: return integer(dtype, a * b);
    case OP_floor_divide: return integer(dtype, (uint64_t)floor_quotient(x, y));
    case OP_remainder: return integer(dtype, a - (uint64_t)floor_quotient(x, y) * b);
    case OP_pow: return integer(dtype, integer_power(a, y));
    case OP_negative: return integer(dtype, -a);
    case OP_abs: return integer(dtype, x < 0 ? -a : a);
    case OP_sign: return integer(dtype, (uint64_t)((x > 0) - (x < 0)));
    case OP_minimum: return integer(dtype, x < y ? a : b);
    case OP_maximum: return integer(dtype, x > y ? a : b);
    case OP_less: return boolean(x < y);
    case OP_less_equal: return boolean(x <= y);
    case OP_greater: return boolean(x > y);
    case OP_greater_equal: return boolean(x >= y);
    case OP_equal: return boolean(x == y);
    case OP_not_equal: return boolean(x != y);
    case OP_bitwise_and: return integer(dtype, a & b);
    case OP_bitwise_or: return integer(dtype, a | b);
    case OP_bitwise_xor: return integer(dtype, a ^ b);
    case OP_bitwise_invert: return integer(dtype, ~a);
    case OP_floor: case OP_ceil: case OP_trunc: case OP_round: return integer(dtype, a);
    case OP_isnan: case OP_isinf: return boolean(false);
    case OP_isfinite: return boolean(true);
    default: refuse("kernel", OP_NAMES[op]); return boolean(false);
    }
}

static Value compute_float(Op op, Dtype dtype, double x, double y) {
    switch (op) {
    case OP_add: return real(dtype, x + y);
    case OP_subtract: return real(dtype, x - y);
    case OP_multiply: return real(dtype, x * y);
    case OP_multiply_no_nan: return real(dtype, y != 0 ? x * y : 0.0);
    case OP_divide: return real(dtype, x / y);
    case OP_floor_divide: return real(dtype, float_floor_quotient(x, y));
    case OP_remainder: return real(dtype, float_remainder(x, y));
    case OP_pow: return real(dtype, pow(x, y));
    case OP_negative: return real(dtype, -x);
    case OP_abs: return real(dtype, fabs(x));
    case OP_sign: return real(dtype, x > 0 ? 1 : x < 0 ? -1 : x - x);
    case OP_minimum: return real(dtype, isnan(x) || x <= y ? x : y);
    case OP_maximum: return real(dtype, isnan(x) || x >= y ? x : y);
    case OP_less: return boolean(x < y);
    case OP_less_equal: return boolean(x <= y);
    case OP_greater: return boolean(x > y);
    case OP_greater_equal: return boolean(x >= y);
    case OP_equal: return boolean(x == y);
    case OP_not_equal: return boolean(x != y);
    case OP_floor: return real(dtype, floor(x));
    case OP_ceil: return real(dtype, ceil(x));
    case OP_trunc: return real(dtype, trunc(x));
    case OP_round: return real(dtype, rint(x));
    case OP_sqrt: return real(dtype, sqrt(x));
    case OP_exp: return real(dtype, exp(x));
    case OP_log: return real(dtype, log(x));
    case OP_sin: return real(dtype, sin(x));
    case OP_cos: return real(dtype, cos(x));
    case OP_tanh: return real(dtype, tanh(x));
    case OP_isnan: return boolean(isnan(x));
    case OP_isinf: return boolean(isinf(x));
    case OP_isfinite: return boolean(isfinite(x));
    case OP_signbit: return boolean(signbit(x));
    default: refuse("kernel", OP_NAMES[op]); return boolean(false);
    }
}

static Value compute_bool(Op op, bool x, bool y) {
    switch (op) {
    case OP_logical_and: case OP_bitwise_and: return boolean(x && y);
    case OP_logical_or: case OP_bitwise_or: return boolean(x || y);
    case OP_logical_xor: case OP_bitwise_xor: case OP_not_equal: return boolean(x != y);
    case OP_equal: return boolean(x == y);
    case OP_logical_not: case OP_bitwise_invert: return boolean(!x);
    case OP_assert:
        if (!x)
            trap("an assertion is false");
        return boolean(x);
    default: refuse("kernel", OP_NAMES[op]); return boolean(false);
    }
}

/* A number of another dtype. A float goes toward zero, and beyond the range to the nearest integer; NaN is 0. */
static Value convert(Value value, Dtype dtype) {
    bool was_float = DTYPES[value.dtype].is_float;
    int bits = DTYPES[dtype].bits - DTYPES[dtype].is_signed;
    double end = ldexp(1.0, bits), start = DTYPES[dtype].is_signed ? -end : 0.0;
    if (dtype == BOOL)
        return boolean(was_float ? value.real != 0 : value.integer != 0);
    if (DTYPES[dtype].is_float && was_float)
        return real(dtype, value.real);
    if (DTYPES[dtype].is_float)
        return real(dtype, dtype == FLOAT32 ? (float)value.integer : (double)value.integer);
    if (!was_float)
        return integer(dtype, (uint64_t)value.integer);
    if (value.real >= end)
        return integer(dtype, ((uint64_t)1 << bits) - 1);
    if (value.real <= start)
        return integer(dtype, DTYPES[dtype].is_signed ? -((uint64_t)1 << bits) : 0);
    return integer(dtype, isnan(value.real) ? 0 : (uint64_t)(int64_t)value.real);
}

static Value compute(const Node *node, const Value *inputs) {
    Value x = inputs[0], y = inputs[node->input_count > 1];
    if (node->op == OP_identity || node->op == OP_stop_gradient)
        return x;
    if (node->op == OP_where)
        return convert(inputs[x.integer ? 1 : 2], node->dtype);
    if (node->op == OP_astype)
        return convert(x, node->dtype);
    if (DTYPES[x.dtype].is_float)
        return compute_float(node->op, node->dtype, x.real, y.real);
    if (x.dtype == BOOL)
        return compute_bool(node->op, x.integer, y.integer);
    return compute_integer(node->op, node->dtype, x.integer, y.integer);
}

/* Runs. */

static int depth;

static void read_inputs(const Operand *operands, int number, const Value *slots, Value *values) {
    for (int k = 0; k < number; k++)
        values[k] = operands[k].slot < 0 ? operands[k].literal : slots[operands[k].slot];
}

/* The results of a region on arguments; `results` may be the place of the arguments. */
static void run_region(const Program *program, const Region *region, const Value *arguments, Value *results) {
    Value slots[region->slot_count + 1];
    memcpy(slots, arguments, region->parameter_count * sizeof *slots);
    for (const Node *node = region->nodes; node < region->nodes + region->node_count; node++) {
        Value inputs[node->input_count + 1], *outputs = &slots[node->slot];
        read_inputs(node->inputs, node->input_count, slots, inputs);
        if (node->op == OP_cond) {
            run_region(program, node->regions[inputs[0].integer ? 0 : 1], inputs + 1, outputs);
        } else if (node->op == OP_while_loop) {
            Value predicate[1];
            for (;;) {
                run_region(program, node->regions[0], inputs, predicate);
                if (!predicate->integer)
                    break;
                run_region(program, node->regions[1], inputs, inputs);
            }
            memcpy(outputs, inputs, node->result_count * sizeof *outputs);
        } else if (node->op == OP_call) {
            if (++depth > MAX_DEPTH)
                refuse("limit", "so deep a recursion");
            run_region(program, program->bodies[node->callee], inputs, outputs);
            depth--;
        } else {
            *outputs = compute(node, inputs);
        }
    }
    Value copies[region->result_count + 1];
    read_inputs(region->results, region->result_count, slots, copies);
    memcpy(results, copies, region->result_count * sizeof *results);
}

static void run_program(const Program *program, const Json *list) {
    const Region *body = program->bodies[program->entry];
    Value arguments[body->parameter_count + 1], results[body->result_count + 1], *argument = arguments;
    if (count(list) != body->parameter_count)
        give_up("\"error\", \"message\": \"the number of arguments is wrong\"");
    for (const Json *json = list->first; json != NULL; json = json->next)
        *argument++ = read_value(json);
    depth = 0;
    run_region(program, body, arguments, results);
    printf("\"returned\", \"results\": [");
    for (int k = 0; k < body->result_count; k++) {
        printf(k ? ", " : "");
        print_value(results[k]);
    }
    printf("]");
}

static void say_hello(void) {
    printf("\"hello\", \"protocol\": 1, \"name\": \"scalars\", \"version\": \"1\", \"language\": \"C\", "
           "\"endings\": [\"trapped\"], \"dtypes\": [");
    for (int dtype = 0; dtype < DTYPE_COUNT; dtype++)
        printf("%s\"%s\"", dtype ? ", " : "", DTYPES[dtype].name);
    printf("], \"ops\": [");
    for (int op = 0; op < OP_cond; op++)
        printf("%s\"%s\"", op ? ", " : "", OP_NAMES[op]);
    printf("], \"constructs\": [\"cond\", \"while_loop\", \"call\", \"recursion\"]");
}

int main(void) {
    static Program program; /* one at a time, as the parent asks */
    static Block *arena;
    static char *line;
    size_t size = 0;
    while (getline(&line, &size, stdin) > 0) {
        const char *text = line;
        const Json *message = read_json(&arena, &text);
        const char *request = get(message, "request")->text;
        bool is_last = strcmp(request, "bye") == 0;
        printf("{\"seq\": %s, \"reply\": ", get(message, "seq")->text);
        if (setjmp(answered) != 0) {
            printf("%s", answer);
        } else if (strcmp(request, "hello") == 0) {
            say_hello();
        } else if (strcmp(request, "compile") == 0) {
            read_program(&program, get(message, "program"));
            printf("\"compiled\", \"program\": 0");
        } else if (strcmp(request, "run") == 0) {
            run_program(&program, get(message, "arguments"));
        } else {
            printf(is_last ? "\"bye\"" : "\"dropped\"");
        }
        printf("}\n");
        fflush(stdout);
        release(&arena);
        if (is_last)
            return 0;
    }
    return 0;
}
