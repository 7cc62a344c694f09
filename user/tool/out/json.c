// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Values as JSON, through json-c.
 *
 * Addresses and keys are strings in hexadecimal: a reader that keeps numbers as
 * doubles would lose their low bits.  Times are microseconds with the nanoseconds
 * behind the point, sizes are bytes.
 */
#include <errno.h>

#include "tool/cli/cli.h"
#include "json.h"

/**
 * rtgt_json_document() - an object that a command prints
 * @schema: its schema: user/schema/ has a file of this name
 *
 * Return: the object, with the member that names the schema.
 */
struct json_object *rtgt_json_document(const char *schema)
{
	struct json_object *doc = json_object_new_object();

	rtgt_json_str(doc, "schema", schema);
	return doc;
}

/**
 * rtgt_json_str() - add a string
 * @to: object
 * @key: name
 * @value: copied
 */
void rtgt_json_str(struct json_object *to, const char *key, const char *value)
{
	json_object_object_add(to, key, json_object_new_string(value));
}

/**
 * rtgt_json_int() - add an integer
 * @to: object
 * @key: name
 * @value: the integer
 */
void rtgt_json_int(struct json_object *to, const char *key, int64_t value)
{
	json_object_object_add(to, key, json_object_new_int64(value));
}

/**
 * rtgt_json_bool() - add true or false
 * @to: object
 * @key: name
 * @value: which
 */
void rtgt_json_bool(struct json_object *to, const char *key, bool value)
{
	json_object_object_add(to, key, json_object_new_boolean(value));
}

/**
 * rtgt_json_us() - add a time in microseconds
 * @to: object
 * @key: name
 * @ns: the time in nanoseconds
 */
void rtgt_json_us(struct json_object *to, const char *key, uint64_t ns)
{
	char text[32];

	snprintf(text, sizeof(text), "%llu.%03llu", (unsigned long long)(ns / 1000),
		 (unsigned long long)(ns % 1000));
	json_object_object_add(to, key, json_object_new_double_s((double)ns / 1e3, text));
}

/**
 * rtgt_json_not_compared() - add bytes that were moved and not compared to the list of these
 * @to: array
 * @bytes: how many
 * @why: in words
 */
void rtgt_json_not_compared(struct json_object *to, uint64_t bytes, const char *why)
{
	struct json_object *o = json_object_new_object();

	rtgt_json_int(o, "bytes", (int64_t)bytes);
	rtgt_json_str(o, "why", why);
	json_object_array_add(to, o);
}

/**
 * rtgt_json_hex() - add an address or a key
 * @to: object
 * @key: name
 * @value: the value
 */
void rtgt_json_hex(struct json_object *to, const char *key, uint64_t value)
{
	char text[24];

	snprintf(text, sizeof(text), "0x%llx", (unsigned long long)value);
	rtgt_json_str(to, key, text);
}

/**
 * rtgt_json_print() - write a document and a newline
 * @doc: any value
 * @pretty: indented rather than on one line
 * @to: stream
 *
 * Return: 0, or -EIO when the stream did not take it.
 */
int rtgt_json_print(struct json_object *doc, bool pretty, FILE *to)
{
	int flags = JSON_C_TO_STRING_NOSLASHESCAPE;

	const char *text;

	if (pretty)
		flags |= JSON_C_TO_STRING_PRETTY | JSON_C_TO_STRING_SPACED;
	text = json_object_to_json_string_ext(doc, flags);
	if (to == stdout)
		document_begin();
	if (fprintf(to, "%s\n", text) < 0 || fflush(to))
		return -EIO;
	return 0;
}
