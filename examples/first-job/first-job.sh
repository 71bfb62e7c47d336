#!/bin/sh
# The first job of the README in one go, against a server that runs.
set -eu
cd "$(dirname "$0")/../.."
PATH="$PWD/target/release:$PATH"

mainspring task show backup >/dev/null 2>&1 || mainspring task create backup --handler command.backup
mainspring submit backup --biz-id "docs-$(date +%F)" \
  --payload '{"source": "docs", "archive": "data/backups/docs.tar.gz"}' --wait
mainspring job list --task backup
