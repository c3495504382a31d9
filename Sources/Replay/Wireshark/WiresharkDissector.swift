import BottleProtocol

/// The bottle's language for Wireshark: a dissector in Lua, made of the law's own tables (protocol law P2, P3).
///
/// It reads the values that Wireshark finds in ATT PDUs, puts the log together as the bottle cuts it, and shows frames,
/// entries, records and commands by name, as fields that can be filtered: `waterh.command`, `waterh.amount`,
/// `waterh.battery` and so on. What a command asks it says in the words of `HostCommand.meaning`.
package enum WiresharkDissector {
    /// The whole script, for a folder of Lua plugins.
    package static var text: String { ([head] + tables + [engine]).joined(separator: "\n") }

    private static let head = """
        -- WaterH bottles for Wireshark and tshark: frames, entries, records and commands by name, in any capture of \
        Bluetooth LE.
        -- Made by waterh-bench out of the tables of its protocol law: do not change it here, it is made anew.
        -- Put it into the folder of Lua plugins (Help, About, Folders), or start with -X lua_script:waterh.lua.

        """

    // MARK: tables

    private static var tables: [String] {
        let responses = BottleProfile.allCases.map { "[\($0.responseCharacteristic)] = true" },
            commands = BottleProfile.allCases.map { "[\($0.commandCharacteristic)] = true" }
        return [
            "local RESPONSES = { \(responses.joined(separator: ", ")) }",
            "local COMMANDS = { \(commands.joined(separator: ", ")) }",
            "local RECORD_SIZE = \(DrinkRecord.size)",
            """
            local FIRST_YEAR, LAST_YEAR = \(DrinkRecord.plausibleYears.lowerBound), \
            \(DrinkRecord.plausibleYears.upperBound)
            """,
            table("OPERATIONS", FrameOperation.known.map { ($0.operation.description, quoted($0.title)) }),
            table(
                "ENTRIES",
                EntryType.known.map {
                    (
                        "\($0.type.rawValue)",
                        """
                        { key = \(quoted($0.key)), title = \(quoted($0.title)), shape = \
                        \(quoted($0.shape.rawValue)), unit = \(quoted($0.unit)) }
                        """
                    )
                }),
            "local FIELDS = {\n"
                + DrinkRecord.fields.map {
                    """
                        { key = \(quoted($0.key)), title = \(quoted($0.title)), offset = \($0.offset), size = \
                    \($0.size), unit = \(quoted($0.unit)) },\n
                    """
                }.joined() + "}",
            table("REGISTRATION", RegistrationCode.known.map { ("\($0.code.rawValue)", quoted($0.title)) }),
            table("CHARGING", (0..<3).map { ("\($0)", quoted(ChargingState(rawValue: $0).description)) }),
            table("REMINDER_MODES", ReminderSetting.modeNames.enumerated().map { ("\($0)", quoted($1)) }),
            table("LIGHT_MODES", ReminderLight.modeNames.map { ("\($0.mode)", quoted($0.name)) }),
            table("WHOLE", whole.map { (quoted(hex($0.encoded)), quoted($0.meaning)) }),
            table("ONE", one),
            "local SETTINGS = \(quoted(settings))",
            """
            local ACKNOWLEDGE = { one = \(quoted(acknowledgement(1))), many = \(quoted(acknowledgement(records))), \
            broken = \(quoted(acknowledgement(bytes: unlikely))) }
            """,
            "local GET = \(quoted(HostCommand.get(EntryType(0xE7)).meaning.replacing("E7", with: "%02X")))",
            "local PUT = \(quoted(word(HostCommand.put([Entry(EntryType(0xE7), [0xEE])]).meaning, "type 0xE7: EE")))",
            """
            local NOTHING = { put = \(quoted(HostCommand.put([]).meaning)), bytes = \
            \(quoted(HostCommand.unknown([]).meaning)) }
            """,
            "local UNKNOWN = \(quoted(word(HostCommand.unknown([0xEE]).meaning, "EE")))",
            "",
        ]
    }

    /// Commands without a parameter, and those of one byte.
    private static let whole: [HostCommand] = [
        .snapshot, .drinkLog, .clearLog, .flash, .register, .recalibrateFull, .recalibrateEmpty, .leaveFactoryMode,
        .draftDump(1), .draftDump(3), .draftDump(4),
    ]

    // Parameters that stand for themselves in a sentence, so that their place in it is found.
    private static let unlikely: UInt16 = 54_321
    private static let records = 4321
    private static let clock = BottleClock(yearByte: 99, month: 12, day: 31, hour: 23, minute: 59, second: 58)
    private static let reminder = ReminderSetting(
        mode: 2, wakeHour: 1, wakeMinute: 2, sleepHour: 3, sleepMinute: 4, intervalMinutes: 231)
    private static let light = ReminderLight(mode: 231, red: 1, green: 2, blue: 3)

    /// Commands of one entry with a parameter, by its type.
    private static var one: [(String, String)] {
        let sentences: [(EntryType, String)] = [
            (.goal, word(HostCommand.goal(ml: unlikely).meaning, "\(unlikely)")),
            (.amount, word(HostCommand.amount(ml: unlikely).meaning, "\(unlikely)")),
            (.clock, word(HostCommand.clock(clock).meaning, clock.description)),
            (.reminder, word(HostCommand.reminder(reminder).meaning, reminder.description)),
            (.light, word(HostCommand.light(light).meaning, light.description)),
            (.language, word(HostCommand.language(231).meaning, "231")),
        ]
        return sentences.map { ("\($0.rawValue)", quoted($1)) }
    }

    private static var settings: String {
        let sentence = HostCommand.settings(goalMl: unlikely, clock: clock, reminder: reminder).meaning
        return word(word(word(sentence, "\(unlikely)"), clock.description), reminder.description)
    }

    private static func acknowledgement(_ records: Int) -> String {
        let bytes = UInt16(records * DrinkRecord.size)
        let sentence = word(acknowledgement(bytes: bytes), "\(bytes)")
        return records == 1 ? sentence : sentence.replacing("\(records)", with: "%s")
    }

    private static func acknowledgement(bytes: UInt16) -> String {
        let sentence = HostCommand.acknowledge(bytes: bytes).meaning
        return bytes == unlikely ? word(sentence, "\(bytes)") : sentence
    }

    private static func word(_ sentence: String, _ parameter: String) -> String {
        sentence.replacing(parameter, with: "%s")
    }

    private static func table(_ name: String, _ rows: [(String, String)]) -> String {
        "local \(name) = {\n"
            + rows.map {
                "    [\($0.0.first?.isNumber == true || $0.0.first == "\"" ? $0.0 : quoted($0.0))] = \($0.1),\n"
            }.joined() + "}"
    }

    private static func quoted(_ text: String) -> String {
        "\"" + text.map { $0 == "\"" || $0 == "\\" ? "\\\($0)" : String($0) }.joined() + "\""
    }

    private static func hex(_ bytes: [UInt8]) -> String {
        bytes.map { ($0 < 16 ? "0" : "") + String($0, radix: 16, uppercase: true) }.joined(separator: " ")
    }

    // MARK: what the tables are used by

    private static let engine = #"""
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
            local kind = ({ byte = ProtoField.uint8, signedByte = ProtoField.int8, number = ProtoField.uint16 \#
        })[fact.shape] or ProtoField.string
            if fact.shape ~= "raw" then f["entry_" .. fact.key] = kind("waterh." .. fact.key, title) end
        end
        local list = {}
        for _, field in pairs(f) do list[#list + 1] = field end
        waterh.fields = list

        local extractors = {}
        for _, name in ipairs({ "btatt.opcode", "btatt.handle", "btatt.value", "btatt.uuid16", "bthci_acl.chandle", \#
        "btle.access_address" }) do
            extractors[name] = Field.new(name)
        end

        -- Words for values.

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
            return string.format("%s, %02d:%02d-%02d:%02d, every %d min", REMINDER_MODES[mode] or "mode " .. mode, \#
        wh, wm, sh, sm, every)
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
            return mo < 1 or mo > 12 or d < 1 or d > days[mo] or h > 23 or mi > 59 or s > 59 or year < FIRST_YEAR or \#
        year > LAST_YEAR
        end

        -- Entries: n(1) type(1) data(n - 1). Returns nil where the bytes are none.

        local function entries(bytes)
            local found, at = {}, 1
            while at <= #bytes do
                local n = bytes:byte(at)
                if n < 1 or at + n > #bytes then return nil end
                found[#found + 1] = { type = bytes:byte(at + 1), data = bytes:sub(at + 2, at + n), offset = at - 1, \#
        size = n + 1 }
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

        -- What a host asks, in the words of the law; the second value tells whether the bytes are a command by their \#
        shape.

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
            if #all == 3 and isType(all[1], "goal", 2) and isType(all[2], "clock", 6) and isType(all[3], "reminder", \#
        6) then
                return SETTINGS:format(number(all[1].data, 1), clock(all[2].data), reminder(all[3].data)), true
            end
            local sentence = #all == 1 and one(all[1])
            if sentence then return sentence, true end
            local words = {}
            for _, entry in ipairs(all) do words[#words + 1] = string.format("type 0x%02X: %s", entry.type, \#
        hex(entry.data)) end
            return PUT:format(table.concat(words, ", ")), true
        end

        -- Nodes of the tree: what is shown, and where in the value it stands.

        local function node(field, offset, size, value, text) return { field = field, offset = offset, size = size, \#
        value = value, text = text, children = {} } end

        local function add(parent, child)
            parent.children[#parent.children + 1] = child
            return child
        end

        local function recordNode(bytes, offset, size)
            local whole = offset >= 0
            local amount = number(bytes, 7)
            local child = node("record", offset, size, bytes, string.format("Record: %s, %d ml%s", clock(bytes), \#
        amount, bytes:byte(13) == 0 and "" or ", no drink"))
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
            local child = node("entry", at, entry.size, entry.type, string.format("Entry 0x%02X: %s", entry.type, \#
        fact and fact.title or "of an unknown type"))
            local field, inside, size = fact and "entry_" .. fact.key, at + 2, #data
            local shape = fact and fact.shape
            if shape == "byte" and size == 1 then add(child, node(field, inside, 1, data:byte(1)))
            elseif shape == "signedByte" and size == 1 then add(child, node(field, inside, 1, data:byte(1) > 127 and \#
        data:byte(1) - 256 or data:byte(1)))
            elseif shape == "number" and size == 2 then add(child, node(field, inside, 2, number(data, 1)))
            elseif shape == "clock" and size == 6 then add(child, node(field, inside, 6, clock(data)))
            elseif shape == "clock" and size == 1 then add(child, node(field, inside, 1, data:byte(1) == 0 and \#
        "taken" or "refused: " .. data:byte(1)))
            elseif shape == "reminder" and size == 6 then add(child, node(field, inside, 6, reminder(data)))
            elseif shape == "light" and size == 4 then add(child, node(field, inside, 4, light(data)))
            elseif shape == "charging" and size == 1 then add(child, node(field, inside, 1, CHARGING[data:byte(1)] or \#
        "charging state " .. data:byte(1)))
            elseif shape == "registration" and size == 1 then add(child, node(field, inside, 1, \#
        REGISTRATION[data:byte(1)] or "code " .. data:byte(1)))
            elseif shape == "log" and size == 1 then add(child, node(field, inside, 1, data:byte(1) == 0 and "nothing \#
        is stored" or "records follow"))
            elseif shape == "log" and size == 2 then add(child, node(field, inside, 2, number(data, 1) .. " bytes are \#
        safe"))
            elseif size > 0 then add(child, node("data", inside, size, data)) end
            return child
        end

        local function frameNodes(parent, bytes)
            local operation, length = header(bytes)
            add(parent, node("operation", 0, 2, operation, string.format("Operation: %s (%s)", operation, \#
        OPERATIONS[operation])))
            add(parent, node("length", 2, 2, length))
            if operation == "GT" then
                local fact = #bytes == 5 and ENTRIES[bytes:byte(5)]
                if #bytes == 5 then add(parent, node("entry", 4, 1, bytes:byte(5), string.format("Asks for 0x%02X: \#
        %s", bytes:byte(5), fact and fact.title or bytes:byte(5) == 255 and "everything" or "an unknown type"))) end
                return
            end
            for _, entry in ipairs(entries(bytes:sub(5)) or {}) do add(parent, entryNode(entry, 4)) end
        end

        -- The log: one frame over many values. Its entries of type 06 hold whole records; a record may lie over two \#
        values.

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

        -- Whether a value that nobody discovered is a log by its own shape: a date that can be.
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

        -- Takes the records that are whole by now; `before` bytes of the payload came with earlier values.
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
            add(parent, node("part", 0, #bytes, string.format("%d of %d payload bytes", math.min(#log.payload, \#
        log.length), log.length)))
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

        -- What a value is, and whether it is a bottle's at all: by the characteristic where Wireshark knows it, else \#
        by its shape.
        local function plan(pdu, key)
            local bytes = pdu.range:raw()
            if pdu.opcode == 0x52 or pdu.opcode == 0x12 then
                local words, isCommand = meaning(bytes)
                if pdu.uuid and not COMMANDS[pdu.uuid] then return nil end
                if not pdu.uuid and not isCommand then return nil end
                local root = node(nil, 0, #bytes, nil, words)
                add(root, node("command", 0, #bytes, words))
                if header(bytes) and isWhole(bytes) then frameNodes(root, bytes) end
                -- A request ends what came before it.
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
                -- A record that lies over two values gets a place of its own.
                if size < #child.value then place = ByteArray.new((child.value:gsub(".", function(c) return \#
        string.format("%02x", c:byte()) end))):tvb("WaterH record")() end
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
                        if one.opcode == 0x52 or one.opcode == 0x12 then key.connection = tostring(pinfo.dst) .. \#
        connection .. ">" end
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

        """#
}
