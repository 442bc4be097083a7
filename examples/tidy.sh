# Takes spaces off the ends of lines, and writes an index of all notes.
set -eu
cd "$1"
rm -f index.md
sed -i 's/[ \t]*$//' *.md
ls *.md | sed 's/^/- /' > .index
mv .index index.md
echo "$(wc -l < index.md) notes"
