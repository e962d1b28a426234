"""Which command survives which fault: `python -m benchmarks.faults` tries every cell and prints what held.

A cell holds if the command ends with the same bytes (or the same numbers) as without the fault, after it was run again
where the fault stopped it, or if it ends with a clear error and loses nothing. The table is in results/faults.json.
"""
