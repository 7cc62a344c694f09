# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#
# jq -r --slurpfile schemas <(cat *.json) [--arg optional 1] -f schema.jq DOCUMENT
#
# Holds a document against the JSON Schema it names ("schema") and prints what is
# wrong, a line each; nothing if it is as it should be.  Knows the words our schemas
# use, and complains of those it does not know, since they would not be checked.  With "optional", prints instead the
# fields of the document nobody would miss.

def known: ["$comment", "$schema", "$id", "$defs", "title", "description", "type", "required", "properties",
	"additionalProperties", "items", "enum", "const", "minimum", "minLength", "anyOf", "$ref"];

# (a parameter $type would hide the function of that name)
def is($wanted): type == $wanted or ($wanted == "integer" and type == "number" and . == floor);

# Errors of the value at path $at; $root is the file the schema stands in
def errors($s; $root; $at):
	. as $v |
	(($s | keys) - known | .[] | "\($at): the schema has \(.), which nobody checks"),
	(if $s["$ref"] then
		$s["$ref"] as $ref |
		if $ref | startswith("#/") then
			errors($root | getpath($ref[2:] / "/"); $root; $at)
		else
			([$schemas[] | select(.["$id"] == $ref)][0] // error("no schema \($ref)")) as $other |
			errors($other; $other; $at)
		end
	else empty end),
	(if $s.type and (is($s.type) | not) then "\($at): \(type), not \($s.type)" else empty end),
	(if $s.enum and (any($s.enum[]; . == $v) | not) then "\($at): \(tojson) is none of \($s.enum | tojson)" else empty end),
	(if ($s | has("const")) and $v != $s.const then "\($at): \(tojson) is not \($s.const | tojson)" else empty end),
	(if $s.minimum and type == "number" and . < $s.minimum then "\($at): \(tojson) is below \($s.minimum)" else empty end),
	(if $s.minLength and type == "string" and length < $s.minLength then "\($at): \(tojson) is too short" else empty end),
	(if $s.anyOf then
		[$s.anyOf[] as $one | [$v | errors($one; $root; $at)]] | min_by(length) | .[]
	else empty end),
	(if type == "object" then
		($s.required // [] | .[] | . as $key | select($v | has($key) | not) | "\($at): no \($key)"),
		(if $s.additionalProperties == false then
			($v | keys) - ($s.properties | keys) | .[] | "\($at): \(.) is not in the schema"
		else empty end),
		($s.properties // {} | to_entries[] | .key as $key | .value as $sub | select($v | has($key)) |
			$v[$key] | errors($sub; $root; "\($at).\($key)"))
	else empty end),
	(if type == "array" and $s.items then
		range(length) as $i | .[$i] | errors($s.items; $root; "\($at)[\($i)]")
	else empty end);

def wrong:
	(.schema? // "none") as $name |
	([$schemas[] | select(.["$id"] == $name + ".json")][0]) as $s |
	if $s then errors($s; $s; "") else "no schema \($name)" end;

# The fields of a document, of an array's elements those of the first
def fields: paths | select((.[-1] | type == "string") and all(.[]; type == "string" or . == 0));

if $ARGS.named.optional then
	. as $doc | fields as $path | select([$doc | delpaths([$path]) | wrong] == []) | $path | map(tostring) | join(".")
else
	wrong
end
