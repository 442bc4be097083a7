//! What pages say, in English and Chinese. What comes from definitions, calls and files
//! stays as it is.

use axum::http::{HeaderMap, header};

/// The language of a page.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Lang {
    En,
    Zh,
}

impl Lang {
    /// What the browser prefers of those that there are.
    pub(super) fn of(headers: &HeaderMap) -> Self {
        let wanted = headers.get(header::ACCEPT_LANGUAGE);
        let wanted = wanted.and_then(|v| v.to_str().ok()).unwrap_or_default();
        let mut best = (Lang::En, 0.0_f32);
        for part in wanted.split(',') {
            let (tag, rest) = part.split_once(';').unwrap_or((part, ""));
            let weight = rest
                .trim()
                .strip_prefix("q=")
                .map_or(Some(1.0), |q| q.parse().ok());
            let lang = match tag.trim().split('-').next().unwrap_or_default() {
                "en" => Lang::En,
                "zh" => Lang::Zh,
                _ => continue,
            };
            // Of equals, the first.
            if weight.is_some_and(|weight| weight > best.1) {
                best = (lang, weight.unwrap_or_default());
            }
        }
        best.0
    }

    /// Its name in HTML.
    pub(super) fn tag(self) -> &'static str {
        match self {
            Lang::En => "en",
            Lang::Zh => "zh",
        }
    }
}

macro_rules! words {
    ($($name:ident $en:literal $zh:literal;)*) => {
        /// A thing that pages say.
        #[derive(Debug, Clone, Copy, PartialEq, Eq)]
        pub(super) enum Word { $($name),* }

        impl Word {
            #[cfg(test)]
            pub(super) const ALL: &[Word] = &[$(Word::$name),*];

            pub(super) fn in_lang(self, lang: Lang) -> &'static str {
                match (self, lang) {
                    $((Word::$name, Lang::En) => $en, (Word::$name, Lang::Zh) => $zh,)*
                }
            }
        }
    };
}

words! {
    About "About" "对象";
    Accept "Accept" "接受";
    Actor "Actor" "操作者";
    After "after" "之后";
    Aliases "Other names" "别名";
    All "all" "全部";
    Answer "Answer" "回答";
    Answered "Answered." "已回答。";
    Approvals "Yes said" "已批准";
    Approve "Approve" "批准";
    ApproveRemember "Approve and remember…" "批准并记住…";
    Approved "Approved." "已批准。";
    Arguments "Arguments" "参数";
    Artifacts "Files that it left" "产出文件";
    Audit "Audit" "审计";
    Before "before" "之前";
    Back "Back" "返回";
    Binary "binary" "二进制";
    Call "Call" "调用";
    CallIt "Call it" "调用工具";
    Calls "Calls a minute" "每分钟调用";
    Cancel "Cancel the run" "取消运行";
    Cancelled "The run was called off." "运行已取消。";
    Changes "Changes" "变更";
    Conflict "It cannot be undone as it stands; nothing was changed:" "当前无法撤销，未做任何更改：";
    Continue "Go on" "继续";
    Created "Asked" "请求时间";
    Current "current" "当前";
    Decisions "What people said" "决定";
    Denied "Denied." "已拒绝。";
    Deny "Deny" "拒绝";
    DenyWhy "Deny…" "拒绝…";
    Differences "Differences to the version before" "与上一版本的差异";
    Disable "Disable" "停用";
    Disabled "disabled" "已停用";
    Duration "Took" "耗时";
    Enable "Enable" "启用";
    Ended "Ended" "结束";
    Errors "Errors" "错误";
    Event "Event" "事件";
    Examples "Examples" "示例";
    Expires "Until" "有效期至";
    Export "Export all" "导出全部";
    Filter "Filter" "筛选";
    ForceUndo "Undo all the same; what was changed since is lost" "仍然撤销；之后的更改会丢失";
    Inbox "Inbox" "待办";
    InboxEmpty "Nothing waits for you." "没有待处理的事项。";
    Keys "Keys: j and k to move, a to approve, d to deny." "快捷键：j/k 移动，a 批准，d 拒绝。";
    Latency "Half of the calls end within" "调用耗时中位数";
    LeftOut "not shown" "未显示";
    LeftOpen "Any value is allowed for" "以下参数不受限制";
    LikeArguments "These arguments" "相同参数";
    LikePlace "This place" "相同路径";
    LikeTool "Any call of this tool" "此工具的所有调用";
    LinkUsed "the link was used before, or its ten minutes are over" "链接已被使用，或已超过十分钟";
    Logs "What it wrote" "日志";
    EarlierChars "earlier characters are not shown" "个较早的字符未显示";
    MoreChars "more characters" "个字符未显示";
    Next "Older" "更早";
    NoNarrowRule "A rule cannot say just these arguments. Choose what it should allow, or approve only this once." "规则无法精确表示这些参数。请选择允许范围，或仅批准这一次。";
    NoRules "Rules cannot be kept here." "此处无法保存规则。";
    NoRuns "No runs." "没有运行记录。";
    NoServers "There are no MCP servers behind this hub." "没有接入 MCP 服务器。";
    NoTools "No tool fits." "没有匹配的工具。";
    Nothing "nothing" "无";
    Output "Output" "输出";
    Overview "Overview" "概览";
    Quarantined "Waits for somebody to look at it" "等待审核的变更";
    Question "Question" "提问";
    Reason "Reason" "原因";
    Record "Record" "记录";
    Refused "Not done" "未执行";
    Related "All that belongs to it" "相关记录";
    RelatedTools "See also" "相关工具";
    Remember "Remember as a rule" "记为规则";
    Remembered "Approved; the rule holds from now on." "已批准，规则即刻生效。";
    RememberHow "Calls like this will run without asking, for as long as the rule stands in the file. What a stricter rule says still holds." "只要规则存在，此类调用将不再询问。更严格的规则仍然有效。";
    ReversibleNo "cannot be undone" "不可撤销";
    ReversiblePartly "only in part" "部分可撤销";
    ReversibleYes "can be undone" "可撤销";
    RollBack "Roll back to it" "回滚到此版本";
    Run "Run" "运行";
    Runs "Runs" "运行";
    SaveApprove "Save the rule and approve" "保存规则并批准";
    Saved "Tokens saved by disclosure" "渐进披露节省的令牌";
    Search "Search" "搜索";
    Servers "Servers" "服务器";
    ShowRest "Show the rest" "显示其余部分";
    SignIn "Sign in" "登录";
    SignInHow "A person's token of this hub; or open the link that this command prints:" "输入本中心的个人令牌，或打开此命令输出的链接：";
    SignOut "Sign out" "退出";
    SignedIn "You are signed in" "已登录";
    Since "Since" "自";
    Skip "Skip to the content" "跳到正文";
    Split "Side by side" "并排";
    Started "Began" "开始";
    State "State" "状态";
    Test "Test" "测试";
    Time "Time" "时间";
    Token "Token" "令牌";
    Tool "Tool" "工具";
    ToolChanged "Done: the tool stands as it is shown." "已完成，工具状态如下所示。";
    Tools "Tools" "工具";
    Triggers "When to use it" "适用场景";
    Undo "Undo…" "撤销…";
    UndoNow "Undo it" "立即撤销";
    UndoWhat "This will be put back" "将恢复以下内容";
    Undone "Undone." "已撤销。";
    Unified "Unified" "合并视图";
    Until "Until" "至";
    Verified "The chain is whole: every entry follows from the one before." "链完整：每条记录都与前一条相连。";
    VerifiedNot "The chain is broken" "链已断裂";
    VerifyAgain "Verify again" "重新验证";
    Version "Version" "版本";
    Versions "Versions" "版本";
    Waiting "Waiting for people" "等待处理";
    Warnings "Warnings" "注意";
    Who "Who" "谁";
    Why "Why it is asked" "询问原因";
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_browser_chooses() {
        for (wanted, lang) in [
            ("", Lang::En),
            ("en-GB,en;q=0.9", Lang::En),
            ("zh-CN,zh;q=0.9,en;q=0.8", Lang::Zh),
            ("fr,zh;q=0.5,en;q=0.7", Lang::En),
            ("fr;q=1,zh;q=0.8,en;q=0.7", Lang::Zh),
            ("zh;q=x", Lang::En),
        ] {
            let mut headers = HeaderMap::new();
            headers.insert(header::ACCEPT_LANGUAGE, wanted.parse().unwrap());
            assert_eq!(Lang::of(&headers), lang, "{wanted}");
        }
    }

    #[test]
    fn chinese_is_chinese() {
        for word in Word::ALL {
            let zh = word.in_lang(Lang::Zh);
            assert!(zh.chars().any(|c| c > '\u{2e80}'), "{word:?}: {zh}");
        }
    }
}
