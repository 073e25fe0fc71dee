package main

import (
	"fmt"

	"claude-hub/hub/web"
)

type openapiCmd struct{}

// Run prints the document that the front end's types are made from.
func (openapiCmd) Run(out output) error {
	doc, err := web.OpenAPI()
	if err != nil {
		return fmt.Errorf("write the OpenAPI document: %w", err)
	}
	_, err = out.Write(doc)
	return err
}
