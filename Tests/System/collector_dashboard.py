"""A simple dashboard in FastAPI, for the comparison in `hardware/bench benchmarks service`.

It uses aiosqlite and one table of sips with an index on the day, and queries the state of the day for each request. Its JSON has the
keys of the gateway's state, so that both send the same amount: it computes the values that it knows, and takes the others from the file
COLLECTOR_STATE.

run: COLLECTOR_DB=FILE COLLECTOR_STATE=FILE uvicorn collector_dashboard:app
"""
import json
import os
from contextlib import asynccontextmanager
from datetime import datetime

import aiosqlite
from fastapi import FastAPI

GOAL_ML = 2500


@asynccontextmanager
async def lifespan(app):
    app.state.db = await aiosqlite.connect(os.environ["COLLECTOR_DB"])
    app.state.db.row_factory = aiosqlite.Row
    await app.state.db.execute(
        "CREATE TABLE IF NOT EXISTS sips (id INTEGER PRIMARY KEY, timestamp TEXT UNIQUE NOT NULL, intake_ml INTEGER NOT NULL, battery INTEGER)")
    await app.state.db.execute("CREATE INDEX IF NOT EXISTS sips_by_day ON sips (DATE(timestamp))")
    await app.state.db.commit()
    with open(os.environ["COLLECTOR_STATE"]) as file:
        app.state.other_values = json.load(file)
    yield
    await app.state.db.close()


app = FastAPI(lifespan=lifespan)


@app.get("/api/v1/state")
async def state():
    now = datetime.now()
    cursor = await app.state.db.execute(
        "SELECT timestamp, intake_ml, battery FROM sips WHERE DATE(timestamp) = ? ORDER BY timestamp", (now.date().isoformat(),))
    rows = await cursor.fetchall()
    total = sum(row["intake_ml"] for row in rows)
    day_share = min(1, max(0, (now.hour * 60 + now.minute - 8 * 60) / (14 * 60)))
    return app.state.other_values | {
        "timestamp": int(now.timestamp()),
        "dailyTotalMl": total,
        "dailyGoalMl": GOAL_ML,
        "expectedMl": round(GOAL_ML * day_share),
        "progress": min(1, total / GOAL_ML),
        "drinkCount": len(rows),
        "lastDrinkAge": str(now - datetime.fromisoformat(rows[-1]["timestamp"])) if rows else None,
    }
