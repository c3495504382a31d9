import CDBus

/// Encodes and decodes libdbus messages. libdbus validates received messages (lengths, UTF-8, paths, nesting). Sent
/// values are validated here, because libdbus aborts the process for an invalid argument.
enum DBusMessageCoding {
    static func arguments(of message: OpaquePointer) -> [DBusValue] {
        var iterator = DBusMessageIter()
        guard dbus_message_iter_init(message, &iterator) != 0 else { return [] }
        return values(&iterator)
    }

    private static func values(_ iterator: inout DBusMessageIter) -> [DBusValue] {
        var result: [DBusValue] = []
        while let value = value(&iterator) {
            result.append(value)
            if dbus_message_iter_next(&iterator) == 0 { break }
        }
        return result
    }

    /// The value at the iterator; `nil` at the end. libdbus limits the nesting to 64.
    private static func value(_ iterator: inout DBusMessageIter) -> DBusValue? {
        switch UInt8(truncatingIfNeeded: dbus_message_iter_get_arg_type(&iterator)) {
        case UInt8(ascii: "y"): return .byte(basic(&iterator, 0))
        case UInt8(ascii: "b"): return .boolean(basic(&iterator, UInt32(0)) != 0)
        case UInt8(ascii: "n"): return .int16(basic(&iterator, 0))
        case UInt8(ascii: "q"): return .uint16(basic(&iterator, 0))
        case UInt8(ascii: "i"): return .int32(basic(&iterator, 0))
        case UInt8(ascii: "u"): return .uint32(basic(&iterator, 0))
        case UInt8(ascii: "x"): return .int64(basic(&iterator, 0))
        case UInt8(ascii: "t"): return .uint64(basic(&iterator, 0))
        case UInt8(ascii: "d"): return .double(basic(&iterator, 0))
        case UInt8(ascii: "s"): return .string(text(&iterator))
        case UInt8(ascii: "o"): return .objectPath(text(&iterator))
        case UInt8(ascii: "g"): return .signature(text(&iterator))
        case UInt8(ascii: "h"): return .fileDescriptor(OwnedDescriptor(basic(&iterator, Int32(-1))))
        case UInt8(ascii: "v"):
            var inner = DBusMessageIter()
            dbus_message_iter_recurse(&iterator, &inner)
            return value(&inner).map { .variant($0) }
        case UInt8(ascii: "r"):
            var inner = DBusMessageIter()
            dbus_message_iter_recurse(&iterator, &inner)
            return .structure(values(&inner))
        case UInt8(ascii: "a"):
            return array(&iterator)
        default:
            return nil
        }
    }

    private static func array(_ iterator: inout DBusMessageIter) -> DBusValue? {
        guard let signature = dbus_message_iter_get_signature(&iterator) else { return nil }
        defer { dbus_free(signature) }
        let element = String(cString: signature).dropFirst()
        var inner = DBusMessageIter()
        dbus_message_iter_recurse(&iterator, &inner)
        if element == "y" {
            var start: UnsafePointer<UInt8>?
            var count: Int32 = 0
            dbus_message_iter_get_fixed_array(&inner, &start, &count)
            return .bytes(start.map { Array(UnsafeBufferPointer(start: $0, count: Int(count))) } ?? [])
        }
        // A dictionary entry is `{kv}`. Its key is a basic type, so it has one character.
        guard element.first == "{" else { return .array(String(element), values(&inner)) }
        var entries: [DBusValue.Entry] = []
        while UInt8(truncatingIfNeeded: dbus_message_iter_get_arg_type(&inner)) == UInt8(ascii: "e") {
            var pair = DBusMessageIter()
            dbus_message_iter_recurse(&inner, &pair)
            let keyAndValue = values(&pair)
            if keyAndValue.count == 2 { entries.append(.init(keyAndValue[0], keyAndValue[1])) }
            if dbus_message_iter_next(&inner) == 0 { break }
        }
        let types = element.dropFirst().dropLast()
        return .dictionary(String(types.prefix(1)), String(types.dropFirst()), entries)
    }

    private static func basic<Value: BitwiseCopyable>(_ iterator: inout DBusMessageIter, _ start: Value) -> Value {
        var value = start
        dbus_message_iter_get_basic(&iterator, &value)
        return value
    }

    private static func text(_ iterator: inout DBusMessageIter) -> String {
        var pointer: UnsafePointer<CChar>?
        dbus_message_iter_get_basic(&iterator, &pointer)
        return pointer.map { String(cString: $0) } ?? ""
    }
}

extension DBusMessageCoding {
    static func append(_ values: [DBusValue], to message: OpaquePointer) throws(DBusFailure) {
        var iterator = DBusMessageIter()
        dbus_message_iter_init_append(message, &iterator)
        for value in values { try append(value, &iterator, depth: 0) }
    }

    private static func unsendable(_ sentence: String) -> DBusFailure { DBusFailure(DBusFailure.unsendable, sentence) }

    private static func append(_ value: DBusValue, _ iterator: inout DBusMessageIter, depth: Int) throws(DBusFailure) {
        guard depth < 32 else { throw unsendable("a value is nested deeper than 32 levels") }
        switch value {
        case .byte(let value): try basic(value, "y", &iterator)
        case .boolean(let value): try basic(UInt32(value ? 1 : 0), "b", &iterator)
        case .int16(let value): try basic(value, "n", &iterator)
        case .uint16(let value): try basic(value, "q", &iterator)
        case .int32(let value): try basic(value, "i", &iterator)
        case .uint32(let value): try basic(value, "u", &iterator)
        case .int64(let value): try basic(value, "x", &iterator)
        case .uint64(let value): try basic(value, "t", &iterator)
        case .double(let value): try basic(value, "d", &iterator)
        case .string(let text):
            guard !text.utf8.contains(0) else { throw unsendable("cannot send a string with a NUL byte") }
            try self.text(text, "s", &iterator)
        case .objectPath(let path):
            guard dbus_validate_path(path, nil) != 0 else { throw unsendable("invalid object path '\(path)'") }
            try text(path, "o", &iterator)
        case .signature(let signature):
            guard dbus_signature_validate(signature, nil) != 0 else {
                throw unsendable("invalid signature '\(signature)'")
            }
            try text(signature, "g", &iterator)
        case .fileDescriptor(let descriptor):
            guard let number = descriptor.number else { throw unsendable("the file descriptor is no longer available") }
            try basic(number, "h", &iterator)
        case .variant(let inner):
            try container("v", inner.type, &iterator) { (inside) throws(DBusFailure) in
                try append(inner, &inside, depth: depth + 1)
            }
        case .structure(let members):
            guard !members.isEmpty else { throw unsendable("cannot send an empty structure") }
            try container("r", nil, &iterator) { (inside) throws(DBusFailure) in
                for member in members { try append(member, &inside, depth: depth + 1) }
            }
        case .bytes(let bytes):
            try container("a", "y", &iterator) { (inside) throws(DBusFailure) in
                let done = bytes.withUnsafeBufferPointer { buffer in
                    var start = buffer.baseAddress
                    return buffer.isEmpty
                        ? 1
                        : dbus_message_iter_append_fixed_array(
                            &inside, code("y"), &start, Int32(clamping: buffer.count))
                }
                guard done != 0 else { throw outOfMemory }
            }
        case .array(let element, let values):
            guard values.allSatisfy({ $0.type == element }) else {
                throw unsendable("an array of '\(element)' contains a value of another type")
            }
            try container("a", element, &iterator) { (inside) throws(DBusFailure) in
                for value in values { try append(value, &inside, depth: depth + 1) }
            }
        case .dictionary(let key, let element, let entries):
            guard entries.allSatisfy({ $0.key.type == key && $0.value.type == element }) else {
                throw unsendable("a dictionary '\(value.type)' contains an entry of another type")
            }
            try container("a", "{\(key)\(element)}", &iterator) { (inside) throws(DBusFailure) in
                for entry in entries {
                    try container("e", nil, &inside) { (pair) throws(DBusFailure) in
                        try append(entry.key, &pair, depth: depth + 1)
                        try append(entry.value, &pair, depth: depth + 1)
                    }
                }
            }
        }
    }

    private static var outOfMemory: DBusFailure { unsendable("out of memory for the message") }
    private static func code(_ letter: Unicode.Scalar) -> Int32 { Int32(UInt8(ascii: letter)) }

    private static func basic(
        _ value: some BitwiseCopyable, _ letter: Unicode.Scalar, _ iterator: inout DBusMessageIter
    ) throws(DBusFailure) {
        var value = value
        guard dbus_message_iter_append_basic(&iterator, code(letter), &value) != 0 else { throw outOfMemory }
    }

    private static func text(_ text: String, _ letter: Unicode.Scalar, _ iterator: inout DBusMessageIter)
        throws(DBusFailure)
    {
        let done = text.withCString { start in
            var start: UnsafePointer<CChar>? = start
            return dbus_message_iter_append_basic(&iterator, code(letter), &start)
        }
        guard done != 0 else { throw outOfMemory }
    }

    private static func container(
        _ letter: Unicode.Scalar, _ signature: String?, _ iterator: inout DBusMessageIter,
        _ fill: (inout DBusMessageIter) throws(DBusFailure) -> Void
    ) throws(DBusFailure) {
        // A signature that is invalid, too long or too deep must not reach libdbus.
        if let signature {
            guard dbus_signature_validate_single(letter == "a" ? "a" + signature : signature, nil) != 0 else {
                throw unsendable("cannot send the type '\(signature)'")
            }
        }
        var inside = DBusMessageIter()
        guard dbus_message_iter_open_container(&iterator, code(letter), signature, &inside) != 0 else {
            throw outOfMemory
        }
        do {
            try fill(&inside)
        } catch {
            dbus_message_iter_abandon_container(&iterator, &inside)
            throw error
        }
        guard dbus_message_iter_close_container(&iterator, &inside) != 0 else { throw outOfMemory }
    }
}
