// Command site makes a web site of the repository's documents. Its pages need no server and nothing from the network.
//
//	go run ./docs/site --out site
//	go run ./docs/site --out site --address https://example.org/xlarun   # with a sitemap
package main

import (
	"fmt"
	"log"
	"os"

	"github.com/spf13/pflag"
)

func main() {
	log.SetFlags(0)
	out := pflag.String("out", "site", "folder to write")
	address := pflag.String("address", "", "where the site will be, for the sitemap and canonical links")
	pflag.Parse()
	if pflag.NArg() > 0 {
		log.Fatalf("site: got the argument %q, wants flags only: --out FOLDER, --address URL", pflag.Arg(0))
	}
	s, err := Read(os.DirFS("."))
	if err != nil {
		log.Fatal("site: ", err)
	}
	if err := s.Write(*out, *address); err != nil {
		log.Fatal("site: ", err)
	}
	fmt.Printf("%d pages in %s; open %s/index.html\n", len(s.Pages), *out, *out)
}
