#!/bin/sh
# backup.sh SOURCE ARCHIVE: packs a directory, reads the archive back, and compares it with the directory.
#
# It may run twice: each attempt writes a file of its own, and only a checked archive gets the name that counts.
set -eu
source=$1 archive=$2
attempt="$archive.$MAINSPRING_JOB_ID-$MAINSPRING_FENCE"
trap 'rm -f "$attempt"' EXIT

# 65 says: no retry will mend this.
[ -d "$source" ] || { echo "$source is not a directory" >&2; exit 65; }
mkdir -p "$(dirname "$archive")"

tar -czf "$attempt" -C "$source" .
tar -dzf "$attempt" -C "$source"
mv "$attempt" "$archive"

# What is printed last is the job's result.
files=$(tar -tzf "$archive" | grep -vc '/$')
echo "$files files in $archive, $(wc -c <"$archive") bytes"
