// Is the document on stdin valid OpenAPI? Prints {"valid","version","errors"}.
import { Validator } from "@seriousme/openapi-schema-validator";
import { readFileSync } from "node:fs";

const validator = new Validator();
const { valid, errors } = await validator.validate(JSON.parse(readFileSync(0, "utf8")));
console.log(JSON.stringify({ valid, version: validator.version, errors }));
