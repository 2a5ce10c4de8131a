#!/usr/bin/env bash
# csvsort (csvkit) writes the values that it infers, not those that it read: a column of 0 and 1 becomes False and True (with
# another row of quantity 2 it does not, so a sample may not show it), and the names None, NA and Null become empty, even with
# -I (no inference). With -I --blanks values stay, but ids sort as text: 10 before 9. Miller's `mlr --csv sort -nf id` does both.
set -euo pipefail
home=$(mktemp -d)
trap 'rm -rf "$home"' EXIT
cd "$home"
python3 -m venv venv
venv/bin/pip install --quiet --disable-pip-version-check csvkit==2.2.0 agate==1.14.2
printf 'id,name,quantity\n10,None,0\n9,Rex,1\n' >stock.csv
one_line() { paste -sd ' '; }
inferred=$(venv/bin/csvsort -c id stock.csv | one_line)
plain=$(venv/bin/csvsort -I -c id stock.csv | one_line)
blanks=$(venv/bin/csvsort -I --blanks -c id stock.csv | one_line)
more=$({ cat stock.csv && echo '8,Ada,2'; } | venv/bin/csvsort -c id | one_line)
echo "csvkit 2.2.0, csvsort of $(one_line <stock.csv): $inferred; with -I: $plain; with -I --blanks: $blanks; with a quantity 2: $more"
[ "$inferred" = 'id,name,quantity 9,Rex,True 10,,False' ] &&
  [ "$plain" = 'id,name,quantity 10,,0 9,Rex,1' ] &&
  [ "$blanks" = 'id,name,quantity 10,None,0 9,Rex,1' ] &&
  [ "$more" = 'id,name,quantity 8,Ada,2 9,Rex,1 10,,0' ]
