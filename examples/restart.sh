# Stands for whatever restarts a service of yours.
echo "stopping $1"
echo "starting $1"
