//! The names of fields, of every kind of frame and of what is inside fields.

macro_rules! keys {
    ($($key:ident = $name:literal,)*) => {
        /// A name that a field of some frame has.
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub(super) enum Key {
            $(#[doc = concat!("`", $name, "`.")] $key,)*
        }

        impl Key {
            /// How many there are.
            pub(super) const COUNT: usize = [$(Self::$key),*].len();

            /// The key of this name.
            pub(super) fn from_name(name: &str) -> Option<Self> {
                match name {
                    $($name => Some(Self::$key),)*
                    _ => None,
                }
            }

            /// The name on the wire.
            pub(super) const fn as_str(self) -> &'static str {
                match self {
                    $(Self::$key => $name,)*
                }
            }
        }
    };
}

keys! {
    Args = "args",
    BackgroundWork = "background_work",
    Block = "block",
    Body = "body",
    Code = "code",
    Data = "data",
    Error = "error",
    ExitCode = "exit_code",
    Extensions = "extensions",
    Id = "id",
    Kind = "kind",
    Level = "level",
    Message = "message",
    MimeType = "mime_type",
    Msg = "msg",
    Name = "name",
    Ok = "ok",
    Packages = "packages",
    ProtocolVersion = "protocol_version",
    PythonVersion = "python_version",
    Repr = "repr",
    Result = "result",
    StatusCode = "status_code",
    Stderr = "stderr",
    Stdout = "stdout",
    Stream = "stream",
    Timeout = "timeout",
    Trace = "trace",
    Type = "type",
    Value = "value",
}
