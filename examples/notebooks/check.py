"""Executes a notebook with Jupyter's nbclient and writes what each cell of code took and showed, as JSON.

    python check.py NOTEBOOK FOLDER [OUTPUT]

FOLDER is where the cells run. OUTPUT gets the executed notebook. A cell with the tag "interrupt" is interrupted once it
has shown its first curve.
"""

import asyncio
import json
import sys
import time

import nbformat
from nbclient import NotebookClient
from nbclient.exceptions import CellExecutionError


async def interrupt(client, cell):
    """Interrupts the kernel half a second after the cell has shown a curve."""
    while not any("<svg" in o.get("data", {}).get("text/html", "") for o in cell.outputs):
        await asyncio.sleep(0.1)
    await asyncio.sleep(0.5)
    await client.km.interrupt_kernel()


async def main(path, folder, output=None):
    notebook = nbformat.read(path, 4)
    client = NotebookClient(notebook, kernel_name="gonb", timeout=300, resources={"metadata": {"path": folder}})
    cells = []
    async with client.async_setup_kernel():
        for index, cell in enumerate(notebook.cells):
            if cell.cell_type != "code":
                continue
            stop = None
            if "interrupt" in cell.metadata.get("tags", []):
                stop = asyncio.create_task(interrupt(client, cell))
            start, error = time.monotonic(), ""
            try:
                await client.async_execute_cell(cell, index)
            except CellExecutionError as e:
                error = str(e)
            seconds = time.monotonic() - start
            if stop:
                stop.cancel()
            text = "".join(o["text"] for o in cell.outputs if o.output_type == "stream")
            shown = [o["data"] for o in cell.outputs if "data" in o]
            cells.append({"seconds": seconds, "error": error, "text": text, "shown": shown})
    if output:
        nbformat.write(notebook, output)
    json.dump(cells, sys.stdout)


asyncio.run(main(*sys.argv[1:]))
