/* A backend in C: it adds two int64 parameters, and refuses every other program. docs/conform.md describes the protocol.
 *
 * It searches the text of a request instead of parsing it, which suffices for so little. */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { LINE = 1 << 20 };

/* The text behind the next occurrence of a word from here on, or NULL. */
static const char *behind(const char *text, const char *word) {
    const char *found = text ? strstr(text, word) : NULL;
    return found ? found + strlen(word) : NULL;
}

static int count(const char *text, const char *word) {
    int number = 0;
    while ((text = behind(text, word)) != NULL)
        number++;
    return number;
}

/* Whether the program is `add` of two int64 parameters, each used once. */
static int is_sum(const char *program) {
    const char *operand = behind(program, "\"inputs\": [{\"name\": \""), *other = behind(operand, "{\"name\": \"");
    return count(program, "\"op\": ") == 1 && count(program, "\"op\": \"add\"") == 1 && other != NULL
        && count(program, "\"dtype\": ") == count(program, "\"dtype\": \"int64\", \"shape\": []")
        && count(program, "\"shape\": []") == 4 /* two parameters, a node, and the result of main */
        && strncmp(operand, other, strcspn(operand, "\"") + 1) != 0;
}

/* The int64 of a value: a number, or a string of digits beyond 2^53. */
static int64_t number(const char *data) {
    return strtoll(*data == '"' ? data + 1 : data, NULL, 10);
}

int main(void) {
    static char line[LINE];
    while (fgets(line, LINE, stdin)) {
        const char *seq = behind(line, "\"seq\": "), *request = behind(line, "\"request\": \"");
        if (seq == NULL || request == NULL)
            return 2;
        printf("{\"seq\": %ld, \"reply\": ", strtol(seq, NULL, 10));
        if (strncmp(request, "hello", 5) == 0) {
            printf("\"hello\", \"protocol\": 1, \"name\": \"sums\", \"version\": \"1\", \"language\": \"C\", "
                   "\"dtypes\": [\"int64\"], \"ops\": [\"add\"], \"constructs\": []");
        } else if (strncmp(request, "compile", 7) == 0) {
            if (is_sum(request))
                printf("\"compiled\", \"program\": 0");
            else
                printf("\"refused\", \"kind\": \"op\", \"message\": \"only sums of two parameters are supported\"");
        } else if (strncmp(request, "run", 3) == 0) {
            const char *first = behind(request, "\"data\": "), *second = behind(first, "\"data\": ");
            if (second == NULL)
                return 2;
            int64_t sum = (int64_t)((uint64_t)number(first) + (uint64_t)number(second));
            const char *quote = llabs(sum) > 1LL << 53 || sum == INT64_MIN ? "\"" : "";
            printf("\"returned\", \"results\": [{\"dtype\": \"int64\", \"data\": %s%lld%s}]", quote, (long long)sum, quote);
        } else {
            printf(strncmp(request, "drop", 4) == 0 ? "\"dropped\"" : "\"bye\"");
        }
        printf("}\n");
        fflush(stdout);
        if (strncmp(request, "bye", 3) == 0)
            return 0;
    }
    return 0;
}
