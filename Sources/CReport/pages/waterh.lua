-- A Wireshark dissector for WaterH bottles: frames, entries, records and commands in Bluetooth LE captures.
-- Tests compare its output with that of waterh-replay.
-- Copy the file to the Lua plugins folder (Help, About, Folders), or start with -X lua_script:waterh.lua.

local RESPONSES = { [65282] = true, [65508] = true }
local COMMANDS = { [65281] = true, [65513] = true }
local RECORD_SIZE = 13
local FIRST_YEAR, LAST_YEAR = 2015, 2099
local OPERATIONS = {
    ["GT"] = "get",
    ["PT"] = "put, or the drink log",
    ["RP"] = "response, or acknowledgement",
    ["RT"] = "report",
}
local ENTRIES = {
    [1] = { key = "temperature", title = "Water temperature", shape = "signedByte", unit = "°C" },
    [2] = { key = "battery", title = "Battery", shape = "byte", unit = "percent" },
    [3] = { key = "clock", title = "Clock", shape = "clock", unit = "" },
    [4] = { key = "todaysAmount", title = "Today's amount", shape = "number", unit = "ml" },
    [5] = { key = "goal", title = "Daily goal", shape = "number", unit = "ml" },
    [6] = { key = "log", title = "Drink log", shape = "log", unit = "" },
    [8] = { key = "level", title = "Water level", shape = "number", unit = "ml" },
    [23] = { key = "charging", title = "Charging", shape = "charging", unit = "" },
    [27] = { key = "language", title = "Language", shape = "byte", unit = "" },
    [28] = { key = "registration", title = "Registration", shape = "registration", unit = "" },
    [29] = { key = "flash", title = "Flash the light", shape = "byte", unit = "" },
    [32] = { key = "screenText", title = "Text for the screen", shape = "raw", unit = "" },
    [38] = { key = "reminder", title = "Reminder", shape = "reminder", unit = "" },
    [40] = { key = "tds", title = "Dissolved solids", shape = "number", unit = "ppm" },
    [161] = { key = "recalibrateFull", title = "Recalibrate full", shape = "byte", unit = "" },
    [166] = { key = "recalibrateEmpty", title = "Recalibrate empty", shape = "byte", unit = "" },
    [244] = { key = "factoryMode", title = "Factory mode", shape = "byte", unit = "" },
    [251] = { key = "light", title = "Reminder light", shape = "light", unit = "" },
}
local FIELDS = {
    { key = "year", title = "Year - 2000", offset = 0, size = 1, unit = "" },
    { key = "month", title = "Month", offset = 1, size = 1, unit = "" },
    { key = "day", title = "Day", offset = 2, size = 1, unit = "" },
    { key = "hour", title = "Hour", offset = 3, size = 1, unit = "" },
    { key = "minute", title = "Minute", offset = 4, size = 1, unit = "" },
    { key = "second", title = "Second", offset = 5, size = 1, unit = "" },
    { key = "amount", title = "Amount", offset = 6, size = 2, unit = "ml" },
    { key = "tds", title = "Dissolved solids", offset = 8, size = 2, unit = "ppm" },
    { key = "sensor", title = "Battery or temperature", offset = 10, size = 2, unit = "" },
    { key = "flag", title = "Flag", offset = 12, size = 1, unit = "" },
}
local REGISTRATION = {
    [1] = "register",
    [2] = "press the button",
    [3] = "confirmed on the bottle",
    [4] = "failed",
    [5] = "clear the stored log",
    [6] = "done and cleared",
}
local CHARGING = {
    [0] = "not charging",
    [1] = "charging",
    [2] = "charged",
}
local REMINDER_MODES = {
    [0] = "off",
    [1] = "periodic",
    [2] = "smart",
}
local LIGHT_MODES = {
    [0] = "blue",
    [1] = "breathe",
    [2] = "calm",
    [3] = "rainbow",
    [5] = "warmth",
    [6] = "christmas",
}
local WHOLE = {
    ["47 54 00 01 FF"] = "ask for a snapshot",
    ["47 54 00 01 06"] = "ask for the drink log",
    ["50 54 00 03 02 1C 05"] = "clear the log without reading it",
    ["50 54 00 03 02 1D 01"] = "flash the light",
    ["50 54 00 03 02 1C 01"] = "register",
    ["50 54 00 03 02 A1 01"] = "recalibrate full",
    ["50 54 00 03 02 A6 01"] = "recalibrate empty",
    ["50 54 00 03 02 F4 00"] = "leave factory mode",
    ["01"] = "ask for the drink log (draft, 01)",
    ["03"] = "ask for the drink log (draft, 03)",
    ["04"] = "ask for the drink log (draft, 04)",
}
local ONE = {
    [5] = "set the goal to %s ml",
    [4] = "set today's amount to %s ml",
    [3] = "set the clock to %s",
    [38] = "set the reminder to %s",
    [251] = "set the reminder light to %s",
    [27] = "set the language to %s",
}
local SETTINGS = "set the goal to %s ml, the clock to %s, the reminder to %s"
local ACKNOWLEDGE = { one = "acknowledge 1 record of the log (%s bytes)", many = "acknowledge %s records of the log (%s bytes)", broken = "acknowledge %s bytes of the log (not a multiple of a record)" }
local GET = "ask for entry type 0x%02X"
local PUT = "put %s"
local NOTHING = { put = "put without entries", bytes = "nothing" }
local UNKNOWN = "unknown: %s"

local waterh = Proto("waterh", "WaterH bottle")

-- Fields. All names begin with waterh.
local f = {
    operation = ProtoField.string("waterh.operation", "Operation"),
    length = ProtoField.uint16("waterh.length", "Payload bytes"),
    command = ProtoField.string("waterh.command", "Command"),
    entry = ProtoField.uint8("waterh.entry", "Entry", base.HEX),
    data = ProtoField.bytes("waterh.data", "Data"),
    part = ProtoField.string("waterh.part", "Part of a log"),
    repeated = ProtoField.bool("waterh.repeated", "The same value once more"),
    record = ProtoField.bytes("waterh.record", "Record"),
    at = ProtoField.string("waterh.at", "Time by the bottle's clock"),
    suspect = ProtoField.bool("waterh.suspect", "The bottle's clock was lost"),
    drink = ProtoField.bool("waterh.drink", "A drink, no bookkeeping"),
    malformed = ProtoField.string("waterh.malformed", "Malformed"),
}
for _, field in ipairs(FIELDS) do
    local kind = field.size == 2 and ProtoField.uint16 or ProtoField.uint8
    local name = field.key == "tds" and "recordTds" or field.key
    local title = field.unit == "" and field.title or field.title .. " (" .. field.unit .. ")"
    f["record_" .. field.key] = kind("waterh." .. name, title)
end
for _, fact in pairs(ENTRIES) do
    local title = fact.unit == "" and fact.title or fact.title .. " (" .. fact.unit .. ")"
    local kind = ({ byte = ProtoField.uint8, signedByte = ProtoField.int8, number = ProtoField.uint16 })[fact.shape] or ProtoField.string
    if fact.shape ~= "raw" then f["entry_" .. fact.key] = kind("waterh." .. fact.key, title) end
end
local list = {}
for _, field in pairs(f) do list[#list + 1] = field end
waterh.fields = list

local extractors = {}
for _, name in ipairs({ "btatt.opcode", "btatt.handle", "btatt.value", "btatt.uuid16", "bthci_acl.chandle", "btle.access_address" }) do
    extractors[name] = Field.new(name)
end

-- Names of values.

local function hex(bytes)
    return (bytes:gsub(".", function(c) return string.format("%02X ", c:byte()) end)):sub(1, -2)
end

local function number(bytes, at) return bytes:byte(at) * 256 + bytes:byte(at + 1) end

local function clock(bytes)
    local y, mo, d, h, mi, s = bytes:byte(1, 6)
    return string.format("%d-%02d-%02dT%02d:%02d:%02d", 2000 + y, mo, d, h, mi, s)
end

local function reminder(bytes)
    local mode, wh, wm, sh, sm, every = bytes:byte(1, 6)
    return string.format("%s, %02d:%02d-%02d:%02d, every %d min", REMINDER_MODES[mode] or "mode " .. mode, wh, wm, sh, sm, every)
end

local function light(bytes)
    local mode = bytes:byte(1)
    return (LIGHT_MODES[mode] or "mode " .. mode) .. ", colour " .. hex(bytes:sub(2, 4))
end

local function isSuspect(bytes)
    local y, mo, d, h, mi, s = bytes:byte(1, 6)
    local days = { 31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31 }
    local year = 2000 + y
    if (year % 4 == 0 and year % 100 ~= 0) or year % 400 == 0 then days[2] = 29 end
    return mo < 1 or mo > 12 or d < 1 or d > days[mo] or h > 23 or mi > 59 or s > 59 or year < FIRST_YEAR or year > LAST_YEAR
end

-- Entries: n(1) type(1) data(n - 1). Returns nil if the bytes are not entries.

local function entries(bytes)
    local found, at = {}, 1
    while at <= #bytes do
        local n = bytes:byte(at)
        if n < 1 or at + n > #bytes then return nil end
        found[#found + 1] = { type = bytes:byte(at + 1), data = bytes:sub(at + 2, at + n), offset = at - 1, size = n + 1 }
        at = at + n + 1
    end
    return found
end

local function header(bytes)
    if #bytes < 4 then return nil end
    local operation = bytes:sub(1, 2)
    return OPERATIONS[operation] and operation, number(bytes, 3)
end

local function isWhole(bytes)
    local operation, length = header(bytes)
    return operation and #bytes == 4 + length
end

-- The name of a host's command, as in the protocol spec, and whether the bytes have the format of a command.

local function one(entry)
    local sentence, data = ONE[entry.type], entry.data
    if not sentence then return nil end
    local shape = ENTRIES[entry.type].shape
    if shape == "number" and #data == 2 then return sentence:format(number(data, 1)) end
    if shape == "byte" and #data == 1 then return sentence:format(data:byte(1)) end
    if shape == "clock" and #data == 6 then return sentence:format(clock(data)) end
    if shape == "reminder" and #data == 6 then return sentence:format(reminder(data)) end
    if shape == "light" and #data == 4 then return sentence:format(light(data)) end
end

local function isType(entry, key, size)
    local fact = ENTRIES[entry.type]
    return fact and fact.key == key and #entry.data == size
end

local function meaning(bytes)
    if #bytes == 0 then return NOTHING.bytes, false end
    local known = WHOLE[hex(bytes)]
    if known then return known, #bytes > 1 end
    local unknown = UNKNOWN:format(hex(bytes))
    if not isWhole(bytes) then return unknown, false end
    local operation, payload = bytes:sub(1, 2), bytes:sub(5)
    if operation == "GT" then
        if #payload ~= 1 then return unknown, false end
        return GET:format(payload:byte(1)), true
    end
    local all = entries(payload)
    if not all then return unknown, false end
    if operation == "RP" then
        if #all ~= 1 or not isType(all[1], "log", 2) then return unknown, false end
        local count = number(all[1].data, 1)
        if count % RECORD_SIZE ~= 0 then return ACKNOWLEDGE.broken:format(count), true end
        local records = count / RECORD_SIZE
        if records == 1 then return ACKNOWLEDGE.one:format(count), true end
        return ACKNOWLEDGE.many:format(string.format("%d", records), count), true
    end
    if operation ~= "PT" then return unknown, false end
    if #all == 0 then return NOTHING.put, false end
    if #all == 3 and isType(all[1], "goal", 2) and isType(all[2], "clock", 6) and isType(all[3], "reminder", 6) then
        return SETTINGS:format(number(all[1].data, 1), clock(all[2].data), reminder(all[3].data)), true
    end
    local sentence = #all == 1 and one(all[1])
    if sentence then return sentence, true end
    local words = {}
    for _, entry in ipairs(all) do words[#words + 1] = string.format("type 0x%02X: %s", entry.type, hex(entry.data)) end
    return PUT:format(table.concat(words, ", ")), true
end

-- Nodes of the tree: the label and its position in the value.

local function node(field, offset, size, value, text) return { field = field, offset = offset, size = size, value = value, text = text, children = {} } end

local function add(parent, child)
    parent.children[#parent.children + 1] = child
    return child
end

local function recordNode(bytes, offset, size)
    local whole = offset >= 0
    local amount = number(bytes, 7)
    local child = node("record", offset, size, bytes, string.format("Record: %s, %d ml%s", clock(bytes), amount, bytes:byte(13) == 0 and "" or ", no drink"))
    add(child, node("at", offset, 6, clock(bytes)))
    for _, field in ipairs(FIELDS) do
        local value = field.size == 2 and number(bytes, field.offset + 1) or bytes:byte(field.offset + 1)
        add(child, node("record_" .. field.key, whole and offset + field.offset or offset, field.size, value))
    end
    add(child, node("suspect", offset, 6, isSuspect(bytes)))
    add(child, node("drink", offset, size, bytes:byte(13) == 0))
    return child
end

local function entryNode(entry, base)
    local fact, data, at = ENTRIES[entry.type], entry.data, base + entry.offset
    local child = node("entry", at, entry.size, entry.type, string.format("Entry 0x%02X: %s", entry.type, fact and fact.title or "of an unknown type"))
    local field, inside, size = fact and "entry_" .. fact.key, at + 2, #data
    local shape = fact and fact.shape
    if shape == "byte" and size == 1 then add(child, node(field, inside, 1, data:byte(1)))
    elseif shape == "signedByte" and size == 1 then add(child, node(field, inside, 1, data:byte(1) > 127 and data:byte(1) - 256 or data:byte(1)))
    elseif shape == "number" and size == 2 then add(child, node(field, inside, 2, number(data, 1)))
    elseif shape == "clock" and size == 6 then add(child, node(field, inside, 6, clock(data)))
    elseif shape == "clock" and size == 1 then add(child, node(field, inside, 1, data:byte(1) == 0 and "taken" or "refused: " .. data:byte(1)))
    elseif shape == "reminder" and size == 6 then add(child, node(field, inside, 6, reminder(data)))
    elseif shape == "light" and size == 4 then add(child, node(field, inside, 4, light(data)))
    elseif shape == "charging" and size == 1 then add(child, node(field, inside, 1, CHARGING[data:byte(1)] or "charging state " .. data:byte(1)))
    elseif shape == "registration" and size == 1 then add(child, node(field, inside, 1, REGISTRATION[data:byte(1)] or "code " .. data:byte(1)))
    elseif shape == "log" and size == 1 then add(child, node(field, inside, 1, data:byte(1) == 0 and "nothing is stored" or "records follow"))
    elseif shape == "log" and size == 2 then add(child, node(field, inside, 2, number(data, 1) .. " bytes are safe"))
    elseif size > 0 then add(child, node("data", inside, size, data)) end
    return child
end

local function frameNodes(parent, bytes)
    local operation, length = header(bytes)
    add(parent, node("operation", 0, 2, operation, string.format("Operation: %s (%s)", operation, OPERATIONS[operation])))
    add(parent, node("length", 2, 2, length))
    if operation == "GT" then
        local fact = #bytes == 5 and ENTRIES[bytes:byte(5)]
        if #bytes == 5 then add(parent, node("entry", 4, 1, bytes:byte(5), string.format("Asks for 0x%02X: %s", bytes:byte(5), fact and fact.title or bytes:byte(5) == 255 and "everything" or "an unknown type"))) end
        return
    end
    for _, entry in ipairs(entries(bytes:sub(5)) or {}) do add(parent, entryNode(entry, 4)) end
end

-- The log: one frame over many values. Its entries of type 06 contain whole records; a record can span two values.

local function isRecordEntry(n) return n > 1 and (n - 1) % RECORD_SIZE == 0 end

local function isSumOfEntries(length)
    for count = 1, math.floor(length / (RECORD_SIZE + 2)) do
        local records = length - 2 * count
        if records % RECORD_SIZE == 0 and records / RECORD_SIZE <= 19 * count then return true end
    end
    return false
end

local function isLogHeader(bytes)
    local operation, length = header(bytes)
    if operation ~= "PT" then return false end
    if length == 0 then return #bytes == 4 end
    if isWhole(bytes) and entries(bytes:sub(5)) then return true end
    if not isSumOfEntries(length) or #bytes - 4 > length then return false end
    if #bytes == 4 then return true end
    if not isRecordEntry(bytes:byte(5)) or bytes:byte(5) + 1 > length then return false end
    return #bytes == 5 or bytes:byte(6) == 6
end

-- Whether a value of an unknown characteristic has the format of a log: a valid date.
local function looksLikeLog(bytes)
    if #bytes < 6 + RECORD_SIZE or not isLogHeader(bytes) or bytes:byte(6) ~= 6 then return false end
    local last = math.min(#bytes, 5 + bytes:byte(5))
    for at = 7, last - RECORD_SIZE + 1, RECORD_SIZE do
        if not isSuspect(bytes:sub(at, at + RECORD_SIZE - 1)) then return true end
    end
    return false
end

local function looksLikeMessage(bytes)
    local operation = header(bytes)
    if not isWhole(bytes) or (operation ~= "RP" and operation ~= "RT") or #bytes == 4 then return false end
    return entries(bytes:sub(5)) ~= nil
end

-- Adds the records that are complete; `before` bytes of the payload came with earlier values.
local function takeRecords(parent, log, before, shift)
    while true do
        if log.left == 0 then
            local n = log.payload:byte(log.at)
            if not n or log.at >= #log.payload then return end
            if n < 1 or log.at + n > log.length then
                add(parent, node("malformed", 0, 0, "an entry runs past the end of its frame"))
                log.over = true
                return
            end
            local type = log.payload:byte(log.at + 1)
            if type == 6 and isRecordEntry(n) then
                log.left = (n - 1) / RECORD_SIZE
                log.at = log.at + 2
            else
                if log.at + n > #log.payload then return end
                log.at = log.at + n + 1
            end
        else
            if log.at + RECORD_SIZE - 1 > #log.payload then return end
            local offset = log.at - 1 - before + shift
            local size = RECORD_SIZE
            if offset < 0 then offset, size = 0, RECORD_SIZE + offset end
            add(parent, recordNode(log.payload:sub(log.at, log.at + RECORD_SIZE - 1), offset, size))
            log.at = log.at + RECORD_SIZE
            log.left = log.left - 1
        end
    end
end

local function logPart(parent, state, bytes, isFirst)
    local log = state.log
    local before = #log.payload
    log.payload = log.payload .. (isFirst and bytes:sub(5) or bytes)
    add(parent, node("part", 0, #bytes, string.format("%d of %d payload bytes", math.min(#log.payload, log.length), log.length)))
    takeRecords(parent, log, before, isFirst and 4 or 0)
    if log.over or #log.payload >= log.length then state.log = nil end
end

local states, plans = {}, {}

local function response(parent, state, bytes)
    if bytes == state.previous then
        add(parent, node("repeated", 0, #bytes, true))
        return true
    end
    state.previous = bytes
    local operation = header(bytes)
    if (operation == "RP" or operation == "RT") and isWhole(bytes) then
        frameNodes(parent, bytes)
        return true
    end
    if isLogHeader(bytes) then
        local _, length = header(bytes)
        add(parent, node("operation", 0, 2, "PT", "Operation: PT (" .. OPERATIONS.PT .. ")"))
        add(parent, node("length", 2, 2, length))
        state.log = { length = length, payload = "", at = 1, left = 0 }
        logPart(parent, state, bytes, true)
        return true
    end
    if state.log then
        logPart(parent, state, bytes, false)
        return true
    end
    return false
end

-- The kind of a value, if it is a bottle's: by the characteristic if Wireshark knows it, else by the format.
local function plan(pdu, key)
    local bytes = pdu.range:raw()
    if pdu.opcode == 0x52 or pdu.opcode == 0x12 then
        local words, isCommand = meaning(bytes)
        if pdu.uuid and not COMMANDS[pdu.uuid] then return nil end
        if not pdu.uuid and not isCommand then return nil end
        local root = node(nil, 0, #bytes, nil, words)
        add(root, node("command", 0, #bytes, words))
        if header(bytes) and isWhole(bytes) then frameNodes(root, bytes) end
        -- A request ends the previous transfer.
        for other, state in pairs(states) do
            if other:sub(1, #key.connection) == key.connection then state.log, state.previous = nil, nil end
        end
        return root
    end
    if pdu.opcode ~= 0x1B and pdu.opcode ~= 0x1D and pdu.opcode ~= 0x0B then return nil end
    if pdu.uuid and not RESPONSES[pdu.uuid] then return nil end
    local name = key.connection .. "/" .. tostring(pdu.handle)
    local state = states[name]
    if not state then
        if not pdu.uuid and not looksLikeLog(bytes) and not looksLikeMessage(bytes) then return nil end
        state = {}
        states[name] = state
    end
    local root = node(nil, 0, #bytes, nil, nil)
    if not response(root, state, bytes) then
        if not pdu.uuid then return nil end
        add(root, node("malformed", 0, #bytes, "no frame, and no part of one"))
    end
    return root
end

local function show(tree, range, child)
    local offset = math.min(math.max(child.offset, 0), range:len())
    local size = math.min(child.size, range:len() - offset)
    local place = size > 0 and range(offset, size) or range
    local item
    if child.field == "record" or child.field == "data" then
        -- A record that spans two values gets its own data source.
        if size < #child.value then place = ByteArray.new((child.value:gsub(".", function(c) return string.format("%02x", c:byte()) end))):tvb("WaterH record")() end
        item = tree:add(f[child.field], place)
    else
        item = tree:add(f[child.field], place, child.value)
    end
    if child.text then item:set_text(child.text) end
    for _, one in ipairs(child.children) do show(item, range, one) end
end

function waterh.dissector(buffer, pinfo, tree)
    local pdus, pdu, connection = {}, nil, ""
    for _, info in ipairs({ all_field_infos() }) do
        local name = info.name
        if name == "bthci_acl.chandle" or name == "btle.access_address" then
            connection = name .. tostring(info)
        elseif name == "btatt.opcode" then
            pdu = { opcode = info.value }
            pdus[#pdus + 1] = pdu
        elseif pdu and name == "btatt.handle" then pdu.handle = pdu.handle or info.value
        elseif pdu and name == "btatt.uuid16" then pdu.uuid = pdu.uuid or info.value
        elseif pdu and name == "btatt.value" and info.len > 0 then pdu.range = pdu.range or info.range
        end
    end
    if #pdus == 0 then return end
    local known = plans[pinfo.number]
    if not known then
        known = {}
        local key = { connection = tostring(pinfo.src) .. connection .. ">" }
        for index, one in ipairs(pdus) do
            if one.range and one.opcode then
                if one.opcode == 0x52 or one.opcode == 0x12 then key.connection = tostring(pinfo.dst) .. connection .. ">" end
                known[index] = plan(one, key)
            end
        end
        plans[pinfo.number] = known
    end
    for index, one in ipairs(pdus) do
        local root = known[index]
        if root and one.range then
            local item = tree:add(waterh, one.range)
            if root.text then item:append_text(": " .. root.text) end
            for _, child in ipairs(root.children) do show(item, one.range, child) end
            if root.text then pinfo.cols.info:append(" [WaterH: " .. root.text .. "]") end
        end
    end
end

function waterh.init()
    states, plans = {}, {}
end

register_postdissector(waterh)
